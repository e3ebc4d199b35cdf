/* SPDX-License-Identifier: MIT */
#include "driver/sample_queue.h"

#include <stdatomic.h>

#include "producer/session_state.h"
#include "runtime/stages.h"

enum { SAMPLES = 64, POOLS = 512 };

/*
 * The numbers of rows that were ever pushed and popped. Each side stores its number with release,
 * and loads the other side's number with acquire.
 */
struct counts {
	_Atomic uint32_t pushed, popped;
};

static struct {
	struct counts sample_counts, pool_counts;
	struct gmt_sample samples[SAMPLES];
	struct gmt_pool pools[POOLS];
} queues;

#define QUEUE(type, push, pop, counts, rows, size) \
	bool push(const struct type *row) \
	{ \
		uint32_t pushed = atomic_load_explicit(&counts.pushed, memory_order_relaxed); \
		uint32_t waiting = pushed - atomic_load_explicit(&counts.popped, memory_order_acquire); \
\
		if (waiting == (size)) \
			return false; \
		rows[pushed % (size)] = *row; \
		atomic_store_explicit(&counts.pushed, pushed + 1, memory_order_release); \
		if (waiting == (size) / 2) \
			gmt_writer_calls.wake(); \
		return true; \
	} \
\
	uint32_t pop(struct type *ret_rows, uint32_t max_count) \
	{ \
		uint32_t pushed = atomic_load_explicit(&counts.pushed, memory_order_acquire); \
		uint32_t popped = atomic_load_explicit(&counts.popped, memory_order_relaxed), count = 0; \
\
		while (popped + count != pushed && count < max_count) { \
			ret_rows[count] = rows[(popped + count) % (size)]; \
			count++; \
		} \
		atomic_store_explicit(&counts.popped, popped + count, memory_order_release); \
		return count; \
	}

QUEUE(gmt_sample, gmt_sample_queue_push, gmt_sample_queue_pop, queues.sample_counts, queues.samples,
	SAMPLES)
QUEUE(gmt_pool, gmt_sample_queue_push_pool, gmt_sample_queue_pop_pools, queues.pool_counts,
	queues.pools, POOLS)

/* Drops the parent's rows in the child of a fork. */
static void after_fork(void)
{
	atomic_store(&queues.sample_counts.popped, atomic_load(&queues.sample_counts.pushed));
	atomic_store(&queues.pool_counts.popped, atomic_load(&queues.pool_counts.pushed));
}

GMT_AT_STAGE(after_fork, DRIVER, after_fork);
