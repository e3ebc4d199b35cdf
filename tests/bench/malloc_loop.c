/* SPDX-License-Identifier: MIT */
/*
 * malloc_loop COUNT ROUNDS [DEPTH]: allocates and frees COUNT times in each round, DEPTH functions
 * below main, and rests between rounds, so that a recorder's writer can follow. Prints the processor
 * time, in nanoseconds, of one allocation and its free in the fastest round.
 *
 * The simulated device maps each block, and the kernel's 4 us for that, never twice the same, would
 * hide what is looked for. So the loop's own mmap hands one page out again and again. (On a real device
 * none of this is called.)
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096, REST_US = 50000 };

static __thread int in_loop;
static void *page, *page_in_use;

/* Exported (-rdynamic), so that the libraries' calls come here; mmap by its name for large files. */
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	if (in_loop && length == BLOCK_BYTES && flags & MAP_NORESERVE && !page_in_use) {
		if (!page)
			page = (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
		return page_in_use = page;
	}
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length)
{
	if (address == page_in_use && address) {
		page_in_use = NULL;
		return 0;
	}
	return (int)syscall(SYS_munmap, address, length);
}

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
