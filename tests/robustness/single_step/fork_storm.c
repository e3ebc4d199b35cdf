/* SPDX-License-Identifier: MIT */
/*
 * fork-storm FORKS FOLDER: a timer's handler forks whenever it interrupts the recorder, FORKS times
 * in total. Each child returns from the handler, finishes the interrupted call and ends; one in
 * eight makes more calls first. Prints the numbers of children, of children that died or hung, and
 * of the program's own allocations and frees. Removes the recordings of children from FOLDER.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes);
int cuMemFree_v2(unsigned long long address);

enum {
	MAX_RUNNING = 32, /* children */
	/* the timer fires after MIN_DELAY_US and a random part of RANDOM_DELAY_US */
	MIN_DELAY_US = 40,
	RANDOM_DELAY_US = 200,
	MAX_DEPTH = 40, /* of the program's stacks */
	TIMEOUT_S = 120, /* a child that runs longer counts as hung */
	POLL_NS = 1000000,
	SIZE_BYTES = 2048,
	RECORDING_SHARE = 8 /* one in eight children makes more calls */
};

static uintptr_t code_start, code_end; /* of the recorder */
static volatile sig_atomic_t is_child, is_waiting;
static volatile unsigned long forks, wanted, running;
static unsigned long ended, died, hung;
static unsigned long allocs, frees;
static const char *folder;

static int find_recorder(struct dl_phdr_info *object, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	if (!strstr(object->dlpi_name, "libgpumemtrace.so"))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
			code_start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
			code_end = code_start + object->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void start_timer(bool is_wanted)
{
	struct itimerval timer = { .it_value.tv_usec =
								   is_wanted ? MIN_DELAY_US + rand() % RANDOM_DELAY_US : 0 };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	int kept_errno = errno;
#ifdef __x86_64__
	uintptr_t ip = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
	uintptr_t ip = (uintptr_t)((ucontext_t *)context)->uc_mcontext.pc;
#endif

	(void)number;
	(void)info;
	if (ip >= code_start && ip < code_end && !is_child && !is_waiting && running < MAX_RUNNING &&
		forks < wanted) {
		pid_t pid = fork();

		if (!pid)
			is_child = 1;
		forks += pid > 0;
		running += pid > 0;
	}
	/* A child has no timer. */
	if (!is_child)
		start_timer(true);
	errno = kept_errno;
}

__attribute__((noinline)) static int allocate(int depth, unsigned long long *ret_block)
{
	int result = depth > 0 ? allocate(depth - 1, ret_block) : cuMemAlloc_v2(ret_block, SIZE_BYTES);

	__asm__ volatile("" ::: "memory");
	return result;
}

static void allocate_and_free(int depth);

/*
 * Ends a child. Some children make calls first: they begin their own recording, which takes most of
 * the time.
 */
__attribute__((noreturn)) static void end_child(void)
{
	for (int i = 0; i < (getpid() % RECORDING_SHARE ? 0 : 3); i++)
		allocate_and_free(i * 5);
	if (getpid() / RECORDING_SHARE % 2)
		_exit(0);
	exit(0);
}

static void allocate_and_free(int depth)
{
	unsigned long long block = 0;
	bool was_child = is_child;

	if (allocate(depth, &block))
		_exit(20);
	/* If the fork was in that call, the child does not know which process owns the block. */
	if (is_child && !was_child)
		end_child();
	allocs++;
	if (cuMemFree_v2(block))
		_exit(21);
	if (is_child && !was_child)
		end_child();
	frees++;
}

static void collect(pid_t pid, int status)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%d.gmt.gz", folder, (int)pid);
	unlink(path);
	running--;
	ended++;
	if (status && !died++)
		fprintf(stderr, "the first child that died: status %#x\n", (unsigned)status);
}

/* Collects ended children. Waits until fewer than `max_running` are running. */
static void collect_children(unsigned long max_running)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	time_t end = time(NULL) + TIMEOUT_S;
	int status;
	pid_t pid;

	is_waiting = 1;
	while (running && (pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (pid)
			collect(pid, status);
		else if (running < max_running)
			break;
		else if (time(NULL) > end) {
			hung += running;
			running = 0;
		} else
			nanosleep(&pause, NULL);
	}
	is_waiting = 0;
}

int main(int count, char **arguments)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_RESTART | SA_SIGINFO };
	unsigned number = 0;

	if (count < 3 || cuInit(0))
		return 2;
	wanted = strtoul(arguments[1], NULL, 10);
	folder = arguments[2];
	if (!dl_iterate_phdr(find_recorder, NULL))
		return 3;
	allocate_and_free(0);
	sigaction(SIGALRM, &action, NULL);
	start_timer(true);
	while (forks < wanted) {
		for (int i = 0; i < 20; i++)
			allocate_and_free((int)(number++ * 7 % MAX_DEPTH));
		if (is_child)
			end_child();
		collect_children(MAX_RUNNING);
	}
	start_timer(false);
	collect_children(1);
	printf("%lu %lu %lu %lu %lu %lu\n", forks, ended, died, hung, allocs, frees);
	return 0;
}
