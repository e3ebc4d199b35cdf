/* SPDX-License-Identifier: MIT */
#ifndef GMT_HOOKS_CALL_COUNTS_H
#define GMT_HOOKS_CALL_COUNTS_H

/*
 * Counts the calls of each hooked function, including calls that make no event. A thread that has a
 * ring with a low slot number counts in its own block, so that threads do not contend for cache
 * lines. All other threads share one block.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "hooks/hooks.h"

struct gmt_call_counts {
	_Alignas(64) _Atomic uint64_t calls[GMT_HOOK_COUNT]; /* indexed by enum gmt_hook */
};

/* The block shared by all threads that have no own block. */
extern struct gmt_call_counts gmt_shared_call_counts;

/* Counts a call in the shared block. Any thread, any time. */
static inline void gmt_call_counts_add_shared(enum gmt_hook hook)
{
	atomic_fetch_add_explicit(&gmt_shared_call_counts.calls[hook], 1, memory_order_relaxed);
}

/*
 * Counts a call in the calling thread's block `own`, or in the shared block if `own` is NULL. Call
 * this only while the thread is `in_recorder` or `closed` (thread_state.h). Then a signal handler
 * that interrupts the thread does not count in the same block.
 */
static inline void gmt_call_counts_add(struct gmt_call_counts *own, enum gmt_hook hook)
{
	if (__builtin_expect(!own, 0)) {
		gmt_call_counts_add_shared(hook);
		return;
	}
	/* The block has one writer, so load and store are enough. */
	atomic_store_explicit(&own->calls[hook],
		atomic_load_explicit(&own->calls[hook], memory_order_relaxed) + 1, memory_order_relaxed);
}

/*
 * Returns the block of the thread that owns this ring slot. The block keeps the counts of the
 * slot's earlier threads. Returns NULL for high slots, because the number of blocks is limited.
 */
struct gmt_call_counts *gmt_call_counts_of_slot(uint32_t slot);

/* Returns the number of calls by all threads up to now. Any thread. */
uint64_t gmt_call_counts_total(enum gmt_hook hook);

#endif
