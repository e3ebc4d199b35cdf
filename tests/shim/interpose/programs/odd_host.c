/* SPDX-License-Identifier: MIT */
/*
 * odd_host MODE [LIBRARY]: programs with allowed but rare behaviour. A second build has much
 * thread-local data (THREAD_BYTES).
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../programs/own_tasks.h"

enum {
	CALLS = 100,
	THREADS = 500,
	LAST_DESCRIPTOR = 1023,
	PAUSE_US = 100000,
	SYNCED_US = 1300000,
	SLOW = 150,
	BUNCH = 20,
	BUNCH_BYTES = 32 << 20
};

__attribute__((visibility("default"))) void odd_while_loading(void);

static __thread volatile char data_of_thread[THREAD_BYTES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_loading;
static int exits_while_loading;
static const char *library;

static void allocate(int times)
{
	void *block;

	data_of_thread[THREAD_BYTES - 1] = 1;
	for (int i = 0; i < times; i++)
		if (cudaMalloc(&block, 512))
			abort();
}

static void *start(void *(*work)(void *), const pthread_attr_t *attributes)
{
	pthread_t id;
	void *result = NULL;

	if (pthread_create(&id, attributes, work, NULL) || pthread_join(id, &result))
		abort();
	return result;
}

static void *allocate_once(void *unused)
{
	allocate(1);
	return unused;
}

static void *allocate_later(void *unused)
{
	usleep(PAUSE_US);
	return allocate_once(unused);
}

static int plain(void)
{
	allocate(CALLS);
	usleep(PAUSE_US);
	allocate(CALLS);
	return 0;
}

/*
 * Writes messages to the standard streams, which the test may have closed. The messages may be
 * lost, but they must not land in the recorder's files.
 */
static int talkative(void)
{
	allocate(1);
	for (int i = 0; i < CALLS; i++)
		for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
			dprintf(number, "without a reader\n");
	return plain();
}

/* Puts one own file under every descriptor number, also under those that the recorder used. */
static int descriptors(void)
{
	allocate(1);
	/* From here on, the recorder has opened its files. It opens and reads no file for a while. */
	wait_for_turn_of("gpumemtrace", NULL);
	for (int number = 3; number <= LAST_DESCRIPTOR; number++)
		close(number);

	int file = open("own", O_RDWR | O_CREAT, 0600);
	if (write(file, "my own text", 11) != 11 || lseek(file, 0, SEEK_SET))
		return 1;
	for (int number = file + 1; number <= LAST_DESCRIPTOR; number++)
		dup2(file, number);
	allocate(CALLS);
	usleep(SYNCED_US);
	allocate(CALLS);
	printf("at %d\n", (int)lseek(file, 0, SEEK_CUR));
	return 0;
}

static int last_worker(void)
{
	pthread_t id;

	pthread_create(&id, NULL, allocate_later, NULL);
	pthread_exit(NULL);
}

static int broken_pipe(void)
{
	int ends[2];

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		return 1;
	close(ends[0]);
	close(ends[1]);
	return plain();
}

static int small_stack(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN))
		return 1;
	start(allocate_once, &attributes);
	return 0;
}

static void *be_busy(void *unused)
{
	void *block;

	while (!cudaMalloc(&block, 512))
		cudaFree(block);
	return unused;
}

static _Atomic int slowly_made;

static void *be_slow(void *unused)
{
	for (;; usleep(PAUSE_US / 10), slowly_made++)
		allocate(1);
	return unused;
}

static int slow_and_busy(void)
{
	pthread_t id;

	pthread_create(&id, NULL, be_busy, NULL);
	pthread_create(&id, NULL, be_slow, NULL);
	usleep(2 * SYNCED_US);
	while (slowly_made < SLOW)
		usleep(PAUSE_US);
	return raise(SIGKILL);
}

/* Returns how many bytes of shared memory the recording uses; -1 if it has none. */
static long long area_bytes(void)
{
	char pattern[64];
	struct stat area;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/gpumemtrace-%u/%d.*.area", (unsigned)getuid(),
		(int)getpid());
	if (glob(pattern, 0, NULL, &found) || found.gl_pathc != 1 || stat(found.gl_pathv[0], &area))
		return -1;
	globfree(&found);
	return (long long)area.st_blocks * 512;
}

/*
 * Prints the maximum of the recording's shared memory. While the recorder's thread does not run,
 * the rings of ended threads stay allocated. Therefore this function waits for the recorder's
 * thread after each bunch of threads, within a limit.
 */
static int many_threads(void)
{
	long long bytes = 0, peak_bytes = 0;
	int waits = 0;

	for (int i = 0; i < THREADS && bytes >= 0; i++) {
		start(allocate_once, NULL);
		bytes = area_bytes();
		peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
		for (; i % BUNCH == 0 && bytes > BUNCH_BYTES && waits < OWN_TASKS_LOOKS; waits++) {
			usleep(OWN_TASKS_LOOK_US);
			bytes = area_bytes();
		}
	}
	printf("%lld\n", peak_bytes);
	return bytes < 0;
}

static void *cancel_itself(void *unused)
{
	pthread_cancel(pthread_self()); /* takes effect at the next cancellation point */
	allocate(1);
	return unused;
}

/*
 * Cancels a thread in its first allocation, where the recording begins. If the recording stayed
 * half begun, each call of another thread would wait for a while and then be lost.
 */
static int cancelled(void)
{
	start(cancel_itself, NULL);
	allocate(4);
	return 0;
}

void odd_while_loading(void)
{
	if (exits_while_loading)
		exit(7);
	is_loading = 1;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void *load(void *unused)
{
	return dlopen(library, RTLD_NOW) ? unused : NULL;
}

static int exit_while_loading(void)
{
	exits_while_loading = 1;
	allocate(1);
	load(NULL);
	return 1;
}

static int lock_while_loading(void)
{
	pthread_t id;
	void *block;

	allocate(1);
	pthread_mutex_lock(&mutex);
	pthread_create(&id, NULL, load, NULL);
	while (!is_loading)
		usleep(1000);
	usleep(PAUSE_US);

	/* This function is called for the first time, so the recorder must look up the real one. */
	int failure = cudaMallocManaged(&block, 512, cudaMemAttachGlobal);
	pthread_mutex_unlock(&mutex);
	pthread_join(id, NULL);
	return failure;
}

static const struct mode {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "plain", plain },
	{ "talkative", talkative },
	{ "descriptors", descriptors },
	{ "last-worker", last_worker },
	{ "broken-pipe", broken_pipe },
	{ "small-stack", small_stack },
	{ "slow-and-busy", slow_and_busy },
	{ "many-threads", many_threads },
	{ "cancelled", cancelled },
	{ "exit-while-loading", exit_while_loading },
	{ "lock-while-loading", lock_while_loading },
};

int main(int count, char **arguments)
{
	library = count > 2 ? arguments[2] : NULL;
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, arguments[1]) == 0)
			return modes[i].run();
	return 2;
}
