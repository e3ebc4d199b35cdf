/* SPDX-License-Identifier: MIT */
#include "hooks/call_counts.h"
#include "runtime/stages.h"

#include <stddef.h>

/* Threads with a higher slot share one block: they count too, but slow each other down. */
enum { BLOCKS = 64 };

struct gmt_call_counts gmt_shared_call_counts;

static struct {
	/* Indexed by ring slot. Unused blocks are not touched and take no memory. */
	struct gmt_call_counts blocks[BLOCKS];
	_Atomic uint32_t used_count; /* only the first blocks were ever used */
} counts;

struct gmt_call_counts *gmt_call_counts_of_slot(uint32_t slot)
{
	uint32_t count = atomic_load_explicit(&counts.used_count, memory_order_relaxed);

	if (slot >= BLOCKS)
		return NULL;
	while (count <= slot &&
		!atomic_compare_exchange_weak_explicit(&counts.used_count, &count, slot + 1,
			memory_order_relaxed, memory_order_relaxed))
		;
	return &counts.blocks[slot];
}

uint64_t gmt_call_counts_total(enum gmt_hook hook)
{
	uint32_t count = atomic_load_explicit(&counts.used_count, memory_order_relaxed);
	uint64_t calls =
		atomic_load_explicit(&gmt_shared_call_counts.calls[hook], memory_order_relaxed);

	for (uint32_t block = 0; block < count; block++)
		calls += atomic_load_explicit(&counts.blocks[block].calls[hook], memory_order_relaxed);
	return calls;
}

/* Resets the counts in the child of a fork, because the calls were its parent's. */
static void after_fork(void)
{
	uint32_t count = atomic_load_explicit(&counts.used_count, memory_order_relaxed);

	for (unsigned hook = 0; hook < GMT_HOOK_COUNT; hook++) {
		atomic_store_explicit(&gmt_shared_call_counts.calls[hook], 0, memory_order_relaxed);
		for (uint32_t block = 0; block < count; block++)
			atomic_store_explicit(&counts.blocks[block].calls[hook], 0, memory_order_relaxed);
	}
}

GMT_AT_STAGE(after_fork, HOOKS, after_fork);
