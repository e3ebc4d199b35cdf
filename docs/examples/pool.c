/* SPDX-License-Identifier: MIT */
/*
 * A pool of equal slots in one block of device memory, and a program that forgets to return some
 * slots. An inference engine may have such a pool for the caches of its requests. docs/pools.md
 * shows the middle part of this file.
 *
 *	cc -Iinclude docs/examples/pool.c -lcudart -o pool && gpumemtrace run ./pool
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

/* page: begin */
#include <gpumemtrace.h>

struct pool {
	char *memory;
	size_t slot_bytes, slots;
	char *is_taken;
	unsigned heap;
};

int pool_init(struct pool *pool, const char *name, size_t slot_bytes, size_t slots)
{
	*pool = (struct pool){ .slot_bytes = slot_bytes, .slots = slots, .is_taken = calloc(slots, 1) };
	if (!pool->is_taken || cudaMalloc((void **)&pool->memory, slot_bytes * slots))
		return -1;
	pool->heap = gpumemtrace_heap(name, pool->memory, slot_bytes * slots);
	return 0;
}

void *pool_take(struct pool *pool, size_t size_bytes, cudaStream_t stream)
{
	for (size_t i = 0; i < pool->slots && size_bytes <= pool->slot_bytes; i++) {
		if (pool->is_taken[i])
			continue;
		pool->is_taken[i] = 1;
		gpumemtrace_suballoc(pool->heap, pool->memory + i * pool->slot_bytes, size_bytes, stream);
		return pool->memory + i * pool->slot_bytes;
	}
	return NULL;
}

void pool_give(struct pool *pool, void *block)
{
	gpumemtrace_subfree(pool->heap, block);
	pool->is_taken[((char *)block - pool->memory) / pool->slot_bytes] = 0;
}

void pool_fini(struct pool *pool)
{
	gpumemtrace_heap_end(pool->heap);
	cudaFree(pool->memory);
	free(pool->is_taken);
}
/* page: end */

enum { REQUESTS = 24, SLOT_BYTES = 1 << 20, SLOTS = 64 };

/* Serves a request. A cancelled request does not return its cache. */
static void serve(struct pool *caches, struct pool *scratch, int is_cancelled)
{
	void *cache = pool_take(caches, 700000, NULL), *work = pool_take(scratch, 300000, NULL);

	pool_give(scratch, work);
	if (!is_cancelled)
		pool_give(caches, cache);
}

int main(void)
{
	struct pool caches, scratch;

	if (pool_init(&caches, "caches", SLOT_BYTES, SLOTS) ||
		pool_init(&scratch, "scratch", SLOT_BYTES, 4))
		return 1;
	for (int request = 0; request < REQUESTS; request++) {
		serve(&caches, &scratch, 0);
		serve(&caches, &scratch, 1);
		gpumemtrace_step();
	}
	pool_fini(&scratch);
	printf("%d requests\n", 2 * REQUESTS);
	return 0;
}
