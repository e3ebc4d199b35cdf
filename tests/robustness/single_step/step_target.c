/* SPDX-License-Identifier: MIT */
/*
 * step-target: the program that the stepper steps through. In each round it makes the same hooked
 * call, between two gates (breakpoint instructions). Then it makes some more calls and waits for
 * children. The log says which call it makes, and what its signal handler does.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "step_log.h"

int cuInit(unsigned flags);
int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes);
int cuMemFree_v2(unsigned long long address);
int cudaMalloc(void **ret_address, size_t size_bytes);
int cudaFree(void *address);

enum {
	CANARY_BYTES = 32768,
	SIGNAL_STACK_BYTES = 8192,
	ABOVE_BYTES = 2048,
	USUAL_FRAME_BYTES = 1776, /* of a signal, on a processor without large registers */
	LARGEST_FRAME_BYTES = 65536,
	NEW_DEPTH = 18,
	RECALLED_DEPTH = 6,
	CHILDREN = 4,
	OWN_ERRNO = 1234,
	POLL_NS = 50000,
	SAME_REPEATED = 4,
	REFUSED_REPEATED = 6,
};

/* Places of the program's calls. */
enum { PLACE_CALL, PLACE_PREPARED, PLACE_FIRST_AFTER, PLACE_SECOND_AFTER, PLACE_OF_CHILD };

/*
 * A signal stack with canary bytes below it. The stack grows towards them, so a write below the
 * stack changes them.
 */
struct guarded_stack {
	unsigned char canary[CANARY_BYTES];
	unsigned char stack[SIGNAL_STACK_BYTES + LARGEST_FRAME_BYTES];
	unsigned char above[ABOVE_BYTES];
};

static struct step_log *step_log;
static sigjmp_buf before_call;
static struct guarded_stack apart;
static struct guarded_stack *guarded_stack = &apart;
static volatile sig_atomic_t is_child;
static pid_t children[CHILDREN];
static volatile unsigned child_count;
static unsigned long long operated, prepared;

static size_t size_of_place(unsigned place)
{
	return STEP_OF_PROGRAM + (size_t)place * STEP_PLACE_BYTES;
}

static void fail(int code)
{
	_exit(code);
}

/* Stops for the stepper, which traces only the first process. */
__attribute__((noinline)) static void stop_at(enum step_gate gate)
{
	if (is_child)
		return;
	step_log->gate = gate;
	__asm__ volatile("int3" ::: "memory");
}

static void check_canary(void)
{
	uint32_t changed = 0;

	for (size_t i = 0; i < CANARY_BYTES; i++)
		changed += guarded_stack->canary[i] != STEP_CANARY;
	if (!changed)
		return;
	__atomic_add_fetch(&step_log->canary_changed, changed, __ATOMIC_RELAXED);
	memset(guarded_stack->canary, STEP_CANARY, CANARY_BYTES);
}

static struct step_process *register_process(pid_t pid, pid_t parent)
{
	uint32_t index = atomic_fetch_add(&step_log->process_count, 1);

	if (index >= STEP_PROCESSES)
		fail(20);
	step_log->processes[index].parent = (uint32_t)parent;
	atomic_store(&step_log->processes[index].pid, (uint32_t)pid);
	return &step_log->processes[index];
}

static struct step_process *find_process(pid_t pid)
{
	for (uint32_t i = atomic_load(&step_log->process_count); i-- > 0;)
		if (atomic_load(&step_log->processes[i].pid) == (uint32_t)pid &&
			!atomic_load(&step_log->processes[i].is_over))
			return &step_log->processes[i];
	return register_process(pid, getpid());
}

/* Waits for a child with a limit: a child that hangs is killed and noted. */
static void wait_for_child(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct timespec begin, now;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - begin.tv_sec > (time_t)step_log->patience_s) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			status = STEP_HUNG;
			break;
		}
		nanosleep(&pause, NULL);
	}

	struct step_process *process = find_process(pid);

	process->status = status;
	atomic_store(&process->is_over, 1);
}

static void wait_for_children(void)
{
	while (child_count)
		wait_for_child(children[--child_count]);
}

static void allocate_and_free(size_t size_bytes)
{
	unsigned long long block = 0;

	if (cuMemAlloc_v2(&block, size_bytes) || cuMemFree_v2(block))
		fail(21);
}

/* Forks in the handler. The child also returns from the handler and continues. */
static void fork_in_handler(int generations)
{
	pid_t pid = fork();

	if (pid < 0)
		fail(22);
	if (pid) {
		children[child_count++] = pid;
		return;
	}
	is_child = 1;
	child_count = 0;
	register_process(getpid(), getppid());
	if (generations > 1)
		fork_in_handler(generations - 1);
}

static void on_signal(int number)
{
	int kept_errno = errno;

	(void)number;
	switch (step_log->action) {
	case STEP_ALLOCATE:
		allocate_and_free(STEP_OF_HANDLER);
		break;
	case STEP_FORK:
		fork_in_handler(1);
		break;
	case STEP_FORK_TWICE:
		fork_in_handler(2);
		break;
	case STEP_JUMP:
		siglongjmp(before_call, 1);
	case STEP_EXIT:
		exit(0);
	case STEP_EXIT_QUICK:
		_exit(0);
	default:
		break;
	}
	errno = kept_errno;
}

/* Allocates with one of 2^depth stacks, selected by the bits of `path`. */
__attribute__((noinline)) static int allocate_deep(unsigned path, unsigned depth);

__attribute__((noinline)) static int allocate_left(unsigned path, unsigned depth)
{
	int result = allocate_deep(path, depth);

	__asm__ volatile("" ::: "memory");
	return result;
}

__attribute__((noinline)) static int allocate_right(unsigned path, unsigned depth)
{
	int result = allocate_deep(path, depth);

	__asm__ volatile("" ::: "memory");
	return result + 0;
}

static int allocate_deep(unsigned path, unsigned depth)
{
	int result = !depth ? cuMemAlloc_v2(&operated, size_of_place(PLACE_CALL))
		: path & 1      ? allocate_left(path >> 1, depth - 1)
						: allocate_right(path >> 1, depth - 1);

	__asm__ volatile("" ::: "memory");
	return result;
}

static void prepare(void)
{
	void *block = NULL;

	operated = prepared = 0;
	if (step_log->operation == STEP_FREE && cuMemAlloc_v2(&prepared, size_of_place(PLACE_PREPARED)))
		fail(23);
	if (step_log->operation == STEP_RUNTIME_FREE &&
		cudaMalloc(&block, size_of_place(PLACE_PREPARED)))
		fail(23);
	if (block)
		prepared = (unsigned long long)(size_t)block;
}

/* Makes the stepped call. */
static int operate(unsigned number)
{
	void *block = NULL;
	int result = 0;

	switch (step_log->operation) {
	case STEP_ALLOC_NEW:
		return allocate_deep(number, NEW_DEPTH);
	case STEP_ALLOC_RECALLED:
		return allocate_deep(number % 4, RECALLED_DEPTH);
	case STEP_FREE:
		return cuMemFree_v2(prepared);
	case STEP_RUNTIME_ALLOC:
		result = cudaMalloc(&block, size_of_place(PLACE_CALL));
		operated = (unsigned long long)(size_t)block;
		return result;
	case STEP_RUNTIME_FREE:
		return cudaFree((void *)(size_t)prepared);
	case STEP_ALLOC_REFUSED:
		return cuMemAlloc_v2(&operated, STEP_REFUSED_BYTES) == 2 ? 0 : 1;
	default:
		return cuMemAlloc_v2(&operated, size_of_place(PLACE_CALL));
	}
}

__attribute__((noreturn)) static void end_child(void)
{
	for (int i = 0; i < 3; i++)
		allocate_and_free(size_of_place(PLACE_OF_CHILD));
	wait_for_children();
	check_canary();
	if (step_log->action == STEP_FORK_TWICE)
		_exit(0);
	exit(0);
}

static void settle(void)
{
	if (operated && cuMemFree_v2(operated))
		fail(24);
	operated = 0;
	allocate_and_free(size_of_place(PLACE_FIRST_AFTER));
	allocate_and_free(size_of_place(PLACE_SECOND_AFTER));
	wait_for_children();
	check_canary();
}

/*
 * Returns how many calls a round makes. The stepper steps through the last one: the recorder then
 * knows its stack from the call before. A refused call waits for the writer, except after others.
 */
static int repeats(void)
{
	return step_log->operation == STEP_ALLOC_SAME   ? SAME_REPEATED
		: step_log->operation == STEP_ALLOC_REFUSED ? REFUSED_REPEATED
													: 1;
}

__attribute__((noinline)) static void call_repeatedly(unsigned number)
{
	for (int left = repeats(); left; left--) {
		if (operated && cuMemFree_v2(operated))
			fail(24);
		prepare();
		if (left == 1)
			stop_at(STEP_BEFORE_CALL);
		errno = OWN_ERRNO;
		if (operate(number) || errno != OWN_ERRNO)
			fail(25);
	}
}

__attribute__((noinline)) static void make_round(unsigned number)
{
	if (!sigsetjmp(before_call, 1)) {
		call_repeatedly(number);
		if (is_child)
			end_child();
		stop_at(STEP_AFTER_CALL);
	} else {
		operated = 0;
	}
	settle();
	stop_at(STEP_SETTLED);
}

static size_t signal_stack_bytes(void)
{
	unsigned long frame = getauxval(AT_MINSIGSTKSZ);
	size_t more = frame > USUAL_FRAME_BYTES ? frame - USUAL_FRAME_BYTES : 0;

	return SIGNAL_STACK_BYTES + (more < LARGEST_FRAME_BYTES ? more : LARGEST_FRAME_BYTES);
}

static void take_signal(struct guarded_stack *stack)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	guarded_stack = stack;
	memset(stack->canary, STEP_CANARY, CANARY_BYTES);
	if (step_log->stack != STEP_STACK_OWN) {
		stack_t given = { .ss_sp = stack->stack, .ss_size = signal_stack_bytes() };

		if (sigaltstack(&given, NULL))
			fail(26);
		action.sa_flags |= SA_ONSTACK;
	}
	if (sigaction(SIGUSR1, &action, NULL))
		fail(27);
}

static void make_rounds(struct guarded_stack *stack)
{
	take_signal(stack);
	while (!step_log->must_end)
		make_round(step_log->rounds++);
}

__attribute__((noinline)) static void make_rounds_inside(void)
{
	struct guarded_stack inside;

	/* Keeps the compiler from removing the array. */
	__asm__ volatile("" ::"r"(&inside) : "memory");
	make_rounds(&inside);
}

/* Calls from ordinary frames at the addresses where the inner signal stack will lie later. */
__attribute__((noinline)) static void call_from_below(size_t bytes)
{
	volatile unsigned char *buffer = __builtin_alloca(bytes);

	buffer[0] = 1;
	allocate_and_free(size_of_place(PLACE_FIRST_AFTER));
	__asm__ volatile("" ::"r"(buffer) : "memory");
}

static void open_log(void)
{
	const char *path = getenv(STEP_LOG_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory = fd < 0
		? MAP_FAILED
		: mmap(NULL, sizeof(*step_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		fail(28);
	close(fd);
	step_log = memory;
}

int main(void)
{
	sigset_t of_children;

	open_log();
	/* Each SIGCHLD would stop the program for the stepper. */
	sigemptyset(&of_children);
	sigaddset(&of_children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &of_children, NULL);
	if (cuInit(0))
		return 29;
	if (step_log->stack == STEP_STACK_INSIDE)
		for (size_t bytes = 1024; bytes < sizeof(struct guarded_stack); bytes += 4096)
			call_from_below(bytes);
	if (step_log->stack == STEP_STACK_INSIDE)
		make_rounds_inside();
	else
		make_rounds(&apart);
	return 0;
}
