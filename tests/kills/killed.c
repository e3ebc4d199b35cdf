/* SPDX-License-Identifier: MIT */
/*
 * killed LOG THREADS HOW [MS]: threads allocate and free without pause and write each call to LOG.
 * The program prints "ready" when each thread has made its first allocation.
 *
 * HOW is kill, segv, abort, _exit, exec or return: the process ends itself that way, MS
 * milliseconds after it has read a line or the end of its input. With `wait`, the process never
 * ends itself.
 *
 * With `bursts=CALLS`, the process returns at the line or the end of its input. Each thread makes
 * CALLS calls at the start, and CALLS more at each SIGUSR1.
 */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "call_log.h"

static struct call_log *call_log;
static pthread_barrier_t begun;
static _Atomic uint32_t must_end;
static volatile int *volatile nowhere;
static uint64_t burst;
static _Atomic uint64_t may_do = UINT64_MAX; /* calls that each thread may make in all */

static void allow_more(int number)
{
	(void)number;
	may_do += burst;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void log_begin(struct logged_thread *thread, void *address, size_t bytes)
{
	uint64_t done = atomic_load_explicit(&thread->done, memory_order_relaxed);

	thread->calls[done] = (struct logged_call){ (uint64_t)address, bytes, now_ns(), 0 };
}

static void log_end(struct logged_thread *thread, void *address)
{
	uint64_t done = atomic_load_explicit(&thread->done, memory_order_relaxed);

	thread->calls[done].end_ns = now_ns();
	thread->calls[done].address = (uint64_t)address;
	atomic_store_explicit(&thread->done, done + 1, memory_order_release);
}

/* Waits before the thread logs a call. So at the limit, the thread is inside no call. */
static void wait_until_allowed(const struct logged_thread *thread)
{
	while (thread->done >= may_do && !must_end)
		usleep(1000);
}

static void *work(void *number)
{
	struct logged_thread *thread = &call_log->threads[(size_t)number];
	unsigned seed = (unsigned)(size_t)number + 1;
	void *blocks[MAX_LIVE_PER_THREAD] = { NULL };

	atomic_store(&thread->tid, (uint32_t)syscall(SYS_gettid));
	for (bool waited = false; !must_end && thread->done < MAX_CALLS_PER_THREAD - 2; waited = true) {
		unsigned slot = (unsigned)rand_r(&seed) % MAX_LIVE_PER_THREAD;
		size_t bytes = 512 * (1 + (unsigned)rand_r(&seed) % 64);

		if (blocks[slot]) {
			wait_until_allowed(thread);
			log_begin(thread, blocks[slot], 0);
			cudaFree(blocks[slot]);
			log_end(thread, blocks[slot]);
		}
		wait_until_allowed(thread);
		log_begin(thread, NULL, bytes);
		if (cudaMalloc(&blocks[slot], bytes))
			abort();
		log_end(thread, blocks[slot]);
		if (!waited)
			pthread_barrier_wait(&begun);
	}
	/* pause() would hang if `must_end` was set just before it. */
	while (!must_end)
		usleep(1000);
	return NULL;
}

static void end(const char *how)
{
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(how, "segv"))
		*nowhere = 1;
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "_exit"))
		_exit(0);
	else if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c",
			"unset LD_PRELOAD; echo another program; read line || :", NULL);
	else
		must_end = 1;
}

/* Waits for a line first: the test must open the shared memory before it is gone. */
static void end_on_request(const char *how, unsigned long ms)
{
	int byte;

	while ((byte = getchar()) != EOF && byte != '\n')
		;
	usleep((useconds_t)ms * 1000);
	end(how);
}

int main(int argc, char **argv)
{
	size_t threads = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	pthread_t ids[LOGGED_THREADS];
	int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	if (fd < 0 || threads < 1 || threads > LOGGED_THREADS || ftruncate(fd, sizeof(*call_log)))
		return 2;
	call_log = mmap(NULL, sizeof(*call_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (call_log == MAP_FAILED)
		return 2;
	if (!strncmp(argv[3], "bursts=", 7)) {
		may_do = burst = strtoull(argv[3] + 7, NULL, 10);
		signal(SIGUSR1, allow_more);
	}
	pthread_barrier_init(&begun, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)i);
	pthread_barrier_wait(&begun);
	puts("ready");
	fflush(stdout);
	if (argc > 4 || burst)
		end_on_request(argv[3], argc > 4 ? strtoul(argv[4], NULL, 10) : 0);
	for (size_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
