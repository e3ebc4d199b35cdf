/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RECORD_ONE_EVENT_H
#define GMT_PRODUCER_RECORD_ONE_EVENT_H

/*
 * The parts of producer/record_event.h, for callers that have one event each time and very many of them: what an event without a
 * stack needs is here, without a call but where something is rare.
 *
 *	if (!gmt_event_enter(thread))
 *		return;
 *	if (!gmt_event_is_on()) {
 *		... make the event ...
 *		gmt_event_end_first(&event);
 *		return;
 *	}
 *	stacks = gmt_event_capture(thread);      where it is to have any
 *	place = gmt_event_place(thread);
 *	if (place)
 *		... make the event there ... gmt_event_publish(thread);
 *	else
 *		... make it elsewhere ... gmt_event_push(&event);
 *	gmt_event_leave(thread);
 *
 * `thread` is the calling thread's state. errno is left alone: what might change it keeps it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "runtime/process.h"
#include "producer/recording_memory.h"
#include "producer/clock.h"
#include "producer/overhead.h"
#include "producer/ring.h"
#include "writer/session.h"
#include "producer/thread.h"
#include "format/format.h"

/* Depot ids; 0: none. */
struct gmt_event_stacks {
	uint32_t stack, frames;
};

/* Where gmt_event_enter must look closer: whether to enter at all. */
bool gmt_event_may_enter(struct gmt_thread_state *thread);

/* For gmt_event_publish. */
void gmt_event_wake(void);

/* The guard: false when the recorder already runs in this thread, or may not. Counts what is lost by that. */
static inline bool gmt_event_enter(struct gmt_thread_state *thread)
{
	gmt_process_check();
	if (__builtin_expect(thread->busy, 0) && !gmt_event_may_enter(thread))
		return false;
	/* One instruction on x86-64: where a handler has just forked, its bit stays, and the event is the parent's. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy |= GMT_IN_RECORDER_RECORDING;
	/* What comes behind is not done before; a signal handler of this thread sees it. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(gmt_overhead_is_timed(&thread->calls), 0))
		thread->timed_from = gmt_clock_stamp();
	return true;
}

static inline void gmt_event_leave(struct gmt_thread_state *thread)
{
	/* None but the one that is timed leaves the count at its beginning; or the child of a fork meanwhile, where all is 0. */
	if (__builtin_expect(!thread->calls, 0) && thread->timed_from)
		gmt_overhead_end(thread->timed_from);
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = 0;
}

/*
 * Who made something is what matters; who ended it is asked for by an option. A refused free is a bug of the
 * program: where it stands matters as much as for an allocation.
 */
static inline bool gmt_event_wants_stack(unsigned kind, uint64_t address, uint64_t object)
{
	/* A bit of each kind: once an event, so it is no jump by a table. */
	enum {
		ALWAYS = 1 << GMT_KIND_ALLOC | 1 << GMT_KIND_ALLOC_FAILED | 1 << GMT_KIND_FREE_FAILED | 1 << GMT_KIND_CREATE |
			1 << GMT_KIND_EXPORT | 1 << GMT_KIND_SET,
		OTHERWISE = 1 << GMT_KIND_RESIZE | 1 << GMT_KIND_NODE_ALLOC | 1 << GMT_KIND_LAUNCH | 1 << GMT_KIND_NODE_FREE,
	};

	if (kind >= GMT_KIND_COUNT)
		return false;
	if (ALWAYS >> kind & 1)
		return true;
	if (__builtin_expect(OTHERWISE >> kind & 1, 0))
		/* Of a block: what made it as large as it is. */
		return kind == GMT_KIND_RESIZE ? address != 0 : kind == GMT_KIND_NODE_ALLOC && !object;
	return gmt_config.free_stacks;
}

/* Whether the recording goes on. Where it does not, it may have to be begun. */
static inline bool gmt_event_is_on(void)
{
	/* Pairs with the stores of the session's begin: all that an event needs is there. */
	return __builtin_expect(atomic_load_explicit(&gmt_session_state, memory_order_acquire) == GMT_SESSION_ON, 1);
}

/* gmt_event_end for one event that has no stacks yet. */
void gmt_event_end_first(struct gmt_ring_event *event);

/* For gmt_event_capture. */
struct gmt_event_stacks gmt_event_capture_some(struct gmt_thread_state *thread);

/* The calling thread's stacks, as they are configured; none while that is paused. */
static inline struct gmt_event_stacks gmt_event_capture(struct gmt_thread_state *thread)
{
	if (!gmt_config.native_stacks && !gmt_config.python_stacks)
		return (struct gmt_event_stacks){ 0 };
	return gmt_event_capture_some(thread);
}

/*
 * Where the next event of the thread is to be made, whole; NULL where it must be pushed instead. Asked behind gmt_event_capture: a
 * signal handler may have forked meanwhile, and this be the child.
 */
static inline struct gmt_ring_event *gmt_event_place(struct gmt_thread_state *thread)
{
	bool is_current = thread->session == atomic_load_explicit(&gmt_session_number, memory_order_relaxed);

	return __builtin_expect(thread->ring && is_current, 1) ? gmt_ring_next(thread->ring, GMT_RECORDING_MEMORY_RING_EVENTS) : NULL;
}

/* That event is made. Right behind gmt_event_place. */
static inline void gmt_event_publish(struct gmt_thread_state *thread)
{
	if (__builtin_expect(gmt_ring_publish(thread->ring, GMT_RECORDING_MEMORY_RING_EVENTS), 0))
		gmt_event_wake();
}

/* An event that has its stacks, where there was no place at once. */
void gmt_event_push(const struct gmt_ring_event *event);

#endif
