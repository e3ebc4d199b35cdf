/* SPDX-License-Identifier: MIT */
#include "producer/overhead.h"

#include <stdatomic.h>
#include <time.h>

#include "producer/clock.h"
#include "runtime/stages.h"

/*
 * About 50 to 250 us. A call that takes longer was interrupted, or waited for room in its ring.
 * Such a call would count a thousand times as much as the others, so it is only counted.
 */
#define LONG_TICKS ((uint64_t)1 << 18)

/* Written once in GMT_OVERHEAD_EVERY events, so all threads may share these counters. */
static _Atomic uint64_t timed_events, timed_ticks, long_events;

void gmt_overhead_end(uint64_t begin)
{
	uint64_t ticks = gmt_clock_stamp() - begin;

	if (ticks >= LONG_TICKS) {
		atomic_fetch_add_explicit(&long_events, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&timed_ticks, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&timed_events, 1, memory_order_relaxed);
}

struct gmt_overhead gmt_overhead_now(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (struct gmt_overhead){
		.timed_events = atomic_load_explicit(&timed_events, memory_order_relaxed),
		.timed_ticks = atomic_load_explicit(&timed_ticks, memory_order_relaxed),
		.long_events = atomic_load_explicit(&long_events, memory_order_relaxed),
		.writer_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec,
	};
}

/* Resets the measurements in the child of a fork, because they are the parent's. */
static void after_fork(void)
{
	atomic_store(&timed_events, 0);
	atomic_store(&timed_ticks, 0);
	atomic_store(&long_events, 0);
}

GMT_AT_STAGE(after_fork, PRODUCER, after_fork);
