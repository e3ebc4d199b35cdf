/* SPDX-License-Identifier: MIT */
#ifndef GMT_HOOKS_CALL_COUNTS_H
#define GMT_HOOKS_CALL_COUNTS_H

/*
 * How often each hooked function was called, also when nothing came of it. A thread that has a ring counts in a block
 * of its own, so that no two threads take a cache line from each other at each call; all others share one.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "hooks/hooks.h"

struct gmt_call_counts {
	_Alignas(64) _Atomic uint64_t of[GMT_HOOK_COUNT]; /* enum gmt_hook */
};

/* Of who has no block of its own. */
extern struct gmt_call_counts gmt_shared_call_counts;

/* Any thread, any time. */
static inline void gmt_call_count(enum gmt_hook hook)
{
	atomic_fetch_add_explicit(&gmt_shared_call_counts.of[hook], 1, memory_order_relaxed);
}

/*
 * The same in the calling thread's block; NULL: it has none. Only where a signal handler that interrupts this does not
 * come here too: while the thread is busy or shut (thread.h).
 */
static inline void gmt_call_count_in(struct gmt_call_counts *own, enum gmt_hook hook)
{
	if (__builtin_expect(!own, 0)) {
		gmt_call_count(hook);
		return;
	}
	/* One writer: load and store are enough. */
	atomic_store_explicit(&own->of[hook], atomic_load_explicit(&own->of[hook], memory_order_relaxed) + 1, memory_order_relaxed);
}

/*
 * The block of the thread that has this ring slot, and of nobody else as long as the slot is its own; NULL: there are
 * only some. What was counted in it by a thread before stays.
 */
struct gmt_call_counts *gmt_call_counts_of_slot(uint32_t slot);

/* By all threads, up to now. Any thread. */
uint64_t gmt_calls_made(enum gmt_hook hook);

/* In the child of a fork: the calls were its parent's. */
void gmt_calls_forget(void);

#endif
