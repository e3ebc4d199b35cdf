/* SPDX-License-Identifier: MIT */
/*
 * thread-lifetimes MODE [COUNT]: threads that start and end, end in rare ways, or do not run on
 * their own stack. Prints numbers that the test needs: the recorder's shared memory, in bytes.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { AT_ONCE = 40, SIZE = 512, ROUNDS = 4, LOOK_US = 1000, LOOKS = 120000 };
enum { GIVEN_BACK_BYTES = 25 << 20, LOUD = 20, STACK_BYTES = 32768 };

static int wanted;
static useconds_t allocation_us; /* how long the recorder waits for memory of its file */

static void *allocate(size_t size_bytes)
{
	void *block;

	if (cudaMalloc(&block, size_bytes))
		_exit(9);
	return block;
}

static long long area_bytes(void)
{
	char pattern[64];
	struct stat area;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/gpumemtrace-%u/%d.*area", (unsigned)getuid(),
		(int)getpid());
	return glob(pattern, 0, NULL, &found) || stat(found.gl_pathv[0], &area)
		? -1
		: (long long)area.st_blocks * 512;
}

/* Waits until the recorder's thread has freed the memory of ended threads, within a limit. */
static void wait_for_memory(void)
{
	for (int i = 0; i < LOOKS && area_bytes() > GIVEN_BACK_BYTES; i++)
		usleep(LOOK_US);
}

static pthread_t start(void *(*work)(void *), void *argument)
{
	pthread_t id;

	if (pthread_create(&id, NULL, work, argument))
		_exit(8);
	return id;
}

static void start_and_join(void *(*work)(void *), int count, int at_once)
{
	pthread_t ids[256];

	for (int done = 0; done < count; done += at_once) {
		int now = count - done < at_once ? count - done : at_once;

		for (int i = 0; i < now; i++)
			ids[i] = start(work, (void *)(intptr_t)(done + i));
		for (int i = 0; i < now; i++)
			pthread_join(ids[i], NULL);
	}
}

static void *live_shortly(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "n%d", (int)(intptr_t)number);
	prctl(PR_SET_NAME, name, 0, 0, 0);
	cudaFree(allocate(SIZE + (size_t)(intptr_t)number));
	return NULL;
}

static int come_and_go(void)
{
	start_and_join(live_shortly, wanted, AT_ONCE);
	printf("%lld\n", area_bytes());
	return 0;
}

/* Replaces libc's function for the recorder. A slow one keeps many threads inside the recorder. */
__attribute__((visibility("default"))) int posix_fallocate64(int fd, off64_t offset, off64_t bytes)
{
	usleep(allocation_us);
	return syscall(SYS_fallocate, fd, 0, offset, bytes) ? errno : 0;
}

static pthread_barrier_t all_there;

static void *run_concurrently(void *unused)
{
	void *block;

	/* All threads ask for their rings at the same time. */
	pthread_barrier_wait(&all_there);
	block = allocate(SIZE);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	cudaFree(block);
	return unused;
}

/* Prints the memory while all threads live, and after all of them have ended. */
static int burst(void)
{
	pthread_t ids[256];

	allocation_us = 50 * LOOK_US;
	pthread_barrier_init(&all_there, NULL, (unsigned)wanted + 1);
	for (int i = 0; i < wanted; i++)
		ids[i] = start(run_concurrently, NULL);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	printf("%lld\n", area_bytes());
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < wanted; i++)
		pthread_join(ids[i], NULL);
	wait_for_memory();
	allocate(SIZE);
	printf("%lld\n", area_bytes());
	return 0;
}

/* Limits the address space to the present size plus `more_bytes`. Returns 0 on success. */
static int limit_address_space(rlim_t more_bytes)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%lu", &pages) != 1 || fclose(file))
		return 1;

	rlim_t limit_bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more_bytes;
	return setrlimit(RLIMIT_AS, &(struct rlimit){ limit_bytes, limit_bytes });
}

static void *allocate_concurrently(void *unused)
{
	allocate(SIZE);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < LOUD; i++)
		allocate(SIZE);
	return unused;
}

static pthread_t concurrent[256];

/* Runs as the last thread, when all rings are in use. Then the other threads end. */
static void *come_late(void *unused)
{
	for (int i = 0; i < LOUD; i++)
		allocate(SIZE);
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < wanted; i++)
		pthread_join(concurrent[i], NULL);
	for (int i = 0; i < 10 * LOUD; i++)
		allocate(2 * SIZE);
	return unused;
}

/* Starts more threads at one time than have rings in a small address space. */
static int too_many(void)
{
	pthread_attr_t small;

	mallopt(M_ARENA_MAX, 1);
	if (limit_address_space((rlim_t)600 << 20))
		return 1;
	allocate(SIZE);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 262144);
	pthread_barrier_init(&all_there, NULL, (unsigned)wanted + 1);
	for (int i = 0; i <= wanted; i++) {
		if (i == wanted)
			pthread_barrier_wait(&all_there);
		if (pthread_create(&concurrent[i], &small, i < wanted ? allocate_concurrently : come_late,
				NULL))
			return 1;
	}
	pthread_join(concurrent[wanted], NULL);
	return 0;
}

static pthread_key_t key;

/*
 * Runs in each round of key destructors, and sets the key again for the next round. In each round
 * it runs after the recorder's destructor, because the recorder's key is older.
 */
static void end_in_rounds(void *rounds_left)
{
	cudaFree(allocate(SIZE));
	if ((intptr_t)rounds_left > 1)
		pthread_setspecific(key, (char *)rounds_left - 1);
}

static void *end_with_key(void *unused)
{
	pthread_setspecific(key, (void *)(intptr_t)ROUNDS);
	cudaFree(allocate(SIZE));
	return unused;
}

static int key_destructors(void)
{
	pthread_key_create(&key, end_in_rounds);
	start_and_join(end_with_key, wanted, AT_ONCE);
	printf("%lld\n", area_bytes());
	return 0;
}

static _Atomic int unseen;

/* Ends the thread by the system call alone. No destructor runs, and no thread can join it. */
static void *end_unseen(void *unused)
{
	(void)unused;
	allocate(SIZE);
	unseen++;
	syscall(SYS_exit, 0);
	return NULL;
}

/* Starts more threads than there are rings, a few at a time. */
static int unseen_ends(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (int done = 0; done < wanted; done++) {
		pthread_t id;

		if (pthread_create(&id, &attributes, end_unseen, NULL))
			return 1;
		if (done % 50 == 49) {
			while (unseen <= done)
				usleep(LOOK_US);
			wait_for_memory();
		}
	}
	while (unseen < wanted)
		usleep(LOOK_US);
	wait_for_memory();
	printf("%lld\n", area_bytes());
	return 0;
}

static ucontext_t of_main, of_routines[2];

__attribute__((noinline)) static void allocate_in_first(void)
{
	allocate(1111);
}

__attribute__((noinline)) static void allocate_in_second(void)
{
	allocate(2222);
}

static void first_routine(void)
{
	for (int i = 0; i < wanted; i++) {
		allocate_in_first();
		swapcontext(&of_routines[0], &of_routines[1]);
	}
}

static void second_routine(void)
{
	for (int i = 0; i < wanted; i++) {
		allocate_in_second();
		swapcontext(&of_routines[1], i + 1 < wanted ? &of_routines[0] : &of_main);
	}
}

/*
 * Runs two routines in turns, each on its own stack in static memory. Prints the addresses of their
 * functions, and how many bytes below the stacks were overwritten.
 */
static int routines(void)
{
	static char stacks[2][STACK_BYTES + 4096];
	void (*const works[])(void) = { first_routine, second_routine };
	int damaged = 0;

	memset(stacks, 0x5a, sizeof(stacks));
	for (int i = 0; i < 2; i++) {
		getcontext(&of_routines[i]);
		of_routines[i].uc_stack.ss_sp = stacks[i] + 4096;
		of_routines[i].uc_stack.ss_size = STACK_BYTES;
		of_routines[i].uc_link = &of_main;
		makecontext(&of_routines[i], works[i], 0);
	}
	swapcontext(&of_main, &of_routines[0]);
	for (int i = 0; i < 2; i++)
		for (int at = 0; at < 4096; at++)
			damaged += stacks[i][at] != 0x5a;
	printf("%llx %llx %d\n", (unsigned long long)(uintptr_t)allocate_in_first,
		(unsigned long long)(uintptr_t)allocate_in_second, damaged);
	return 0;
}

static const struct mode {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "come-and-go", come_and_go },
	{ "burst", burst },
	{ "too-many", too_many },
	{ "key-destructors", key_destructors },
	{ "unseen-ends", unseen_ends },
	{ "routines", routines },
};

int main(int count, char **arguments)
{
	wanted = count > 2 ? atoi(arguments[2]) : 0;
	for (size_t i = 0; wanted > 0 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, arguments[1]) == 0)
			return modes[i].run();
	return 2;
}
