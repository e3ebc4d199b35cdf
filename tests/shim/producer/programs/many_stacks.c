/* SPDX-License-Identifier: MIT */
/*
 * many-stacks COUNT EACH: allocates EACH times with each of COUNT native stacks (below 2^20), one
 * stack after the other. Keeps only the last few thousand blocks.
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>

enum { BITS = 20, LIVE = 4096 };

static void *blocks[LIVE];

static void down(unsigned bits, int left);

/* The statements after each call prevent a tail call, and keep the two functions different. */
__attribute__((noinline)) static void by_one_way(unsigned bits, int left)
{
	down(bits, left);
	__asm__ volatile("# one way" : : : "memory");
}

__attribute__((noinline)) static void by_another_way(unsigned bits, int left)
{
	down(bits, left);
	__asm__ volatile("# another way" : : : "memory");
}

static void allocate(unsigned number)
{
	void **block = &blocks[number % LIVE];

	if ((*block && cudaFree(*block)) || cudaMalloc(block, 4096))
		exit(3);
}

static unsigned made;

__attribute__((noinline)) static void down(unsigned bits, int left)
{
	if (!left)
		allocate(made++);
	else if (bits & 1)
		by_one_way(bits >> 1, left - 1);
	else
		by_another_way(bits >> 1, left - 1);
	__asm__ volatile("" : : : "memory");
}

int main(int argument_count, char **arguments)
{
	unsigned count = argument_count > 2 ? (unsigned)atoi(arguments[1]) : 0,
			 each = count ? (unsigned)atoi(arguments[2]) : 0;

	for (unsigned i = 0; i < count * each; i++)
		down(i / each, BITS);
	return count ? 0 : 2;
}
