/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program that is recorded under emulation. It keeps 5 of 10 blocks of 1 MiB. At the same
 * time, each of 4 threads allocates and frees 1,000 blocks of 4 KiB. With the argument `killed` it
 * then ends by SIGKILL.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of CUDA's driver. The declarations are here because the compiler need not have CUDA's headers. */
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **ret_context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *ret_address, size_t size_bytes);
int cuMemFree_v2(uint64_t address);

enum { BLOCKS = 10, KEPT = 5, THREADS = 4, ROUNDS = 1000 };

static void must(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "%s: %d\n", what, result);
		exit(1);
	}
}

__attribute__((noinline)) static uint64_t allocate(size_t size_bytes)
{
	uint64_t address = 0;

	must(cuMemAlloc_v2(&address, size_bytes), "cuMemAlloc");
	return address;
}

__attribute__((noinline)) static uint64_t make_block(size_t size_bytes)
{
	uint64_t address = allocate(size_bytes);

	/* Without this, the call above would be a jump, and this function in no stack. */
	__asm__ volatile("" ::: "memory");
	return address;
}

static void *work(void *context)
{
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (int i = 0; i < ROUNDS; i++)
		must(cuMemFree_v2(make_block(4096)), "cuMemFree");
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t blocks[BLOCKS];
	pthread_t threads[THREADS];
	void *context;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, work, context), "pthread_create");
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make_block(1 << 20);
	for (int i = KEPT; i < BLOCKS; i++)
		must(cuMemFree_v2(blocks[i]), "cuMemFree");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "killed"))
		raise(SIGKILL);
	return 0;
}
