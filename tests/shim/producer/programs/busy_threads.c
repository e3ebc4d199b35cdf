/* SPDX-License-Identifier: MIT */
/*
 * busy_threads THREADS ROUNDS: each thread allocates and frees without pause, so threads get
 * addresses that other threads have just freed. Prints the number of allocations.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HELD = 16 };

static int rounds;

static void *work(void *seed_address)
{
	unsigned seed = (unsigned)(size_t)seed_address;
	void *held[HELD] = { NULL };

	for (int i = 0; i < rounds; i++) {
		unsigned slot = (unsigned)rand_r(&seed) % HELD;

		if (held[slot])
			cudaFree(held[slot]);
		if (cudaMalloc(&held[slot], 512 * (1 + (unsigned)rand_r(&seed) % 4)))
			abort();
	}
	for (int i = 0; i < HELD; i++)
		cudaFree(held[i]);
	return NULL;
}

int main(int argument_count, char **arguments)
{
	int threads = argument_count == 3 ? atoi(arguments[1]) : 0;
	pthread_t ids[64];

	rounds = argument_count == 3 ? atoi(arguments[2]) : 0;
	if (threads < 1 || threads > 64 || rounds < 1)
		return 2;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(size_t)(i + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%d\n", threads * rounds);
	return 0;
}
