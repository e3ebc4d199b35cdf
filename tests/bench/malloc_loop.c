/* SPDX-License-Identifier: MIT */
/*
 * malloc_loop COUNT ROUNDS [DEPTH]: allocates and frees COUNT times in each round, DEPTH functions
 * below main, and rests between rounds, so that a recorder's writer can follow. Prints the processor
 * time, in nanoseconds, of one allocation and its free in the fastest round.
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "one_page.h"

enum { REST_US = 50000 };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double loop(int count)
{
	usleep(REST_US);
	in_loop = 1;

	double start = now_ns();

	for (int i = 0; i < count; i++) {
		void *block;

		if (cudaMalloc(&block, BLOCK_BYTES) || cudaFree(block))
			exit(3);
	}

	double time_ns = (now_ns() - start) / count;
	in_loop = 0;
	return time_ns;
}

/* Adds nothing but a frame; not a tail call, for the result is used. */
__attribute__((noinline)) static double descend(int depth, int count)
{
	return depth > 0 ? descend(depth - 1, count) * 0.5 * 2 : loop(count);
}

int main(int argument_count, char **arguments)
{
	int count = argument_count > 2 ? atoi(arguments[1]) : 0;
	int rounds = argument_count > 2 ? atoi(arguments[2]) : 0;
	int depth = argument_count > 3 ? atoi(arguments[3]) : 20;

	if (count < 1 || rounds < 1)
		return 2;
	loop(count / 10 + 1);

	double best = descend(depth, count);
	while (--rounds > 0) {
		double time_ns = descend(depth, count);
		best = time_ns < best ? time_ns : best;
	}
	printf("%.1f\n", best);
	return 0;
}
