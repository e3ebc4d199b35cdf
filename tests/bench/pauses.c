/* SPDX-License-Identifier: MIT */
/*
 * pauses THREADS COUNT: each thread allocates and frees COUNT times without pause, and reads the
 * clock in between. Prints the wall time of a pair of calls, in nanoseconds: the median, the
 * 99.99th percentile, and the maximum.
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "one_page.h"

enum { MAX_THREADS = 64 };

static int count;
static long *times_ns; /* of all threads */
static pthread_barrier_t start_line;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void *work(void *own_times)
{
	long *times = own_times, before;

	in_loop = 1;
	pthread_barrier_wait(&start_line);
	before = now_ns();
	for (int i = 0; i < count; i++) {
		void *block;
		long now;

		if (cudaMalloc(&block, BLOCK_BYTES) || cudaFree(block))
			exit(3);
		now = now_ns();
		times[i] = now - before;
		before = now;
	}
	in_loop = 0;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	long left = *(const long *)a, right = *(const long *)b;

	return left < right ? -1 : left > right;
}

int main(int argument_count, char **arguments)
{
	int threads = argument_count == 3 ? atoi(arguments[1]) : 0;
	pthread_t ids[MAX_THREADS];
	size_t all;

	count = argument_count == 3 ? atoi(arguments[2]) : 0;
	if (threads < 1 || threads > MAX_THREADS || count < 1)
		return 2;
	all = (size_t)threads * (size_t)count;
	times_ns = malloc(all * sizeof(*times_ns));
	if (!times_ns || cudaFree(NULL))
		return 3;
	/* Writes the pages once, so that no page faults are measured. */
	for (size_t i = 0; i < all; i++)
		times_ns[i] = 1;
	pthread_barrier_init(&start_line, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, times_ns + (size_t)i * (size_t)count);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	qsort(times_ns, all, sizeof(*times_ns), compare);
	printf("%ld %ld %ld\n", times_ns[all / 2], times_ns[all - 1 - all / 10000], times_ns[all - 1]);
	return 0;
}
