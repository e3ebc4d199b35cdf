/* SPDX-License-Identifier: MIT */
/*
 * malloc_loop COUNT ROUNDS [DEPTH [counted]]: allocates and frees COUNT times in each round, DEPTH
 * functions below main. Rests between rounds, so that a recorder's writer can follow. Prints the
 * processor time, in nanoseconds, of one allocation and its free in the fastest round. With
 * `counted` the loop is in the outermost function, and its counter is in the register that other
 * functions use as frame pointer.
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void pair(void)
{
	void *block;

	if (cudaMalloc(&block, BLOCK_BYTES) || cudaFree(block))
		exit(3);
}

static double loop(int count)
{
	usleep(REST_US);
	in_loop = 1;

	double start = now_ns();

	for (int i = 0; i < count; i++)
		pair();

	double time_ns = (now_ns() - start) / count;
	in_loop = 0;
	return time_ns;
}

/* Adds only frames. The multiplication prevents a tail call. */
__attribute__((noinline)) static double descend(int depth, int count)
{
	return depth > 0 ? descend(depth - 1, count) * 0.5 * 2 : loop(count);
}

/* The asm statement prevents a tail call. */
__attribute__((noinline)) static void descend_to_pair(int depth)
{
	if (depth > 0)
		descend_to_pair(depth - 1);
	else
		pair();
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static double count_above(int depth, int count)
{
	double start = now_ns();
#ifdef __x86_64__
	register long left __asm__("rbp") = count;
#else
	long left = count;
#endif

	for (; left > 0; left--) {
		__asm__ volatile("" : "+r"(left));
		descend_to_pair(depth);
		__asm__ volatile("" : "+r"(left));
	}
	return (now_ns() - start) / count;
}

int main(int argument_count, char **arguments)
{
	int count = argument_count > 2 ? atoi(arguments[1]) : 0;
	int rounds = argument_count > 2 ? atoi(arguments[2]) : 0;
	int depth = argument_count > 3 ? atoi(arguments[3]) : 20;

	if (count < 1 || rounds < 1)
		return 2;
	loop(count / 10 + 1);

	double (*run)(int, int) =
		argument_count > 4 && !strcmp(arguments[4], "counted") ? count_above : descend;
	double best = run(depth, count);

	while (--rounds > 0) {
		double time_ns = run(depth, count);
		best = time_ns < best ? time_ns : best;
	}
	printf("%.1f\n", best);
	return 0;
}
