/* SPDX-License-Identifier: MIT */
/*
 * turns COUNT: two threads alternate strictly, COUNT times each. One thread allocates and frees
 * twenty functions deep, then the other fifteen deep. Each run does exactly the same, so that
 * instructions can be counted.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { DEPTHS = 2 };

static sem_t turns[DEPTHS];
static int count;

__attribute__((noinline)) static int allocate_and_free(void)
{
	void *block;

	return cudaMalloc(&block, 4096) || cudaFree(block);
}

/* Adds only frames. The multiplication prevents a tail call. */
__attribute__((noinline)) static int descend(int depth)
{
	return depth > 0 ? descend(depth - 1) * 2 : allocate_and_free();
}

static void *take_turns(void *number)
{
	int own = number != NULL;

	for (int i = 0; i < count; i++) {
		sem_wait(&turns[own]);
		if (descend(own ? 15 : 20))
			abort();
		sem_post(&turns[!own]);
	}
	return NULL;
}

int main(int argument_count, char **arguments)
{
	pthread_t other;

	count = argument_count > 1 ? atoi(arguments[1]) : 0;
	sem_init(&turns[0], 0, 1);
	sem_init(&turns[1], 0, 0);
	if (count < 1 || pthread_create(&other, NULL, take_turns, turns))
		return 2;
	take_turns(NULL);
	return pthread_join(other, NULL);
}
