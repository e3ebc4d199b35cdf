/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_EVENT_FAST_PATH_H
#define GMT_PRODUCER_EVENT_FAST_PATH_H

/*
 * The steps of producer/event.h as inline functions, for callers that make very many events, one at
 * a time. An event without a stack calls a function only in rare cases.
 *
 *	if (!gmt_event_enter(thread))
 *		return;
 *	if (!gmt_event_is_on()) {
 *		... make the event ...
 *		gmt_event_end_slow(&event);
 *		return;
 *	}
 *	stacks = gmt_event_capture(thread);      if the event carries stacks
 *	slot = gmt_event_slot(thread);
 *	if (slot)
 *		... make the event there ... gmt_event_publish(thread);
 *	else
 *		... make it elsewhere ... gmt_event_push(&event);
 *	gmt_event_leave(thread);
 *
 * `thread` is the calling thread's state. errno stays unchanged: each function that might change it
 * saves it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "runtime/fork_detection.h"
#include "producer/recording_memory.h"
#include "producer/clock.h"
#include "producer/overhead.h"
#include "producer/ring.h"
#include "producer/session_state.h"
#include "producer/thread_state.h"
#include "format/format.h"

/* Depot ids of an event's stacks; 0: no stack. */
struct gmt_event_stacks {
	uint32_t native, python;
};

/* Slow path of gmt_event_enter. Returns whether the thread may enter the recorder. */
bool gmt_event_enter_slow(struct gmt_thread_state *thread);

/* Wakes the writer, for gmt_event_publish. */
void gmt_event_wake(void);

/*
 * Marks the thread as inside the recorder. Returns false if the recorder already runs in this
 * thread, or may not run; an event that is lost this way is counted.
 */
static inline bool gmt_event_enter(struct gmt_thread_state *thread)
{
	gmt_fork_detection_check();
	if (__builtin_expect(thread->in_recorder, 0) && !gmt_event_enter_slow(thread))
		return false;
	/*
	 * This is one instruction on x86-64. If a signal handler has just forked here, its bit stays
	 * set, and the event is the parent's.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	thread->in_recorder |= GMT_IN_RECORDER_RECORDING;
	/* Later code does not move before this point. A signal handler of this thread sees the bit. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(gmt_overhead_is_timed(&thread->calls), 0))
		thread->timed_from = gmt_clock_stamp();
	return true;
}

static inline void gmt_event_leave(struct gmt_thread_state *thread)
{
	/*
	 * Only the timed call finds `calls` at 0. The child of a fork also does: all its counters are
	 * 0, including timed_from.
	 */
	if (__builtin_expect(!thread->calls, 0) && thread->timed_from)
		gmt_overhead_end(thread->timed_from);
	atomic_signal_fence(memory_order_seq_cst);
	thread->in_recorder = 0;
}

/*
 * A user needs to know the code that allocates. Stacks of frees are an option. A refused free is a
 * bug in the program, so its stack matters as much as an allocation's.
 */
static inline bool gmt_event_wants_stack(unsigned kind, uint64_t address, uint64_t object)
{
	/* One bit per kind: this runs once per event, so it avoids a jump table. */
	enum {
		ALWAYS = 1 << GMT_KIND_ALLOC | 1 << GMT_KIND_ALLOC_FAILED | 1 << GMT_KIND_FREE_FAILED |
			1 << GMT_KIND_CREATE | 1 << GMT_KIND_EXPORT | 1 << GMT_KIND_SET,
		OTHERWISE = 1 << GMT_KIND_RESIZE | 1 << GMT_KIND_NODE_ALLOC | 1 << GMT_KIND_LAUNCH |
			1 << GMT_KIND_NODE_FREE,
	};

	if (kind >= GMT_KIND_COUNT)
		return false;
	if (ALWAYS >> kind & 1)
		return true;
	if (__builtin_expect(OTHERWISE >> kind & 1, 0))
		/* A resized block keeps the stack of the call that gave it its size. */
		return kind == GMT_KIND_RESIZE ? address != 0 : kind == GMT_KIND_NODE_ALLOC && !object;
	return gmt_config.free_stacks;
}

/* Returns whether the recording is on. If not, the recording may have to be started. */
static inline bool gmt_event_is_on(void)
{
	/* Pairs with the stores that begin the session: everything that an event needs exists. */
	return __builtin_expect(atomic_load_explicit(&gmt_session_state, memory_order_acquire) ==
			GMT_SESSION_ON,
		1);
}

/* Slow path: same as gmt_event_end, for one event that has no stacks yet. */
void gmt_event_end_slow(struct gmt_ring_event *event);

/* Slow path of gmt_event_capture. */
struct gmt_event_stacks gmt_event_capture_slow(struct gmt_thread_state *thread);

/*
 * Returns the calling thread's stacks, as configured. Returns no stacks while the capture is
 * paused.
 */
static inline struct gmt_event_stacks gmt_event_capture(struct gmt_thread_state *thread)
{
	if (!gmt_config.native_stacks && !gmt_config.python_stacks)
		return (struct gmt_event_stacks){ 0 };
	return gmt_event_capture_slow(thread);
}

/*
 * Returns the slot where the caller writes the thread's next event in full. Returns NULL if the
 * caller must push the event instead. Call it after gmt_event_capture: a signal handler may have
 * forked meanwhile, so this may be the child.
 */
static inline struct gmt_ring_event *gmt_event_slot(struct gmt_thread_state *thread)
{
	bool is_current =
		thread->session == atomic_load_explicit(&gmt_session_number, memory_order_relaxed);

	return __builtin_expect(thread->ring && is_current, 1)
		? gmt_ring_next(thread->ring, GMT_RECORDING_MEMORY_RING_EVENTS)
		: NULL;
}

/* Publishes the event at that slot. Call it right after gmt_event_slot and the write. */
static inline void gmt_event_publish(struct gmt_thread_state *thread)
{
	if (__builtin_expect(gmt_ring_publish(thread->ring, GMT_RECORDING_MEMORY_RING_EVENTS), 0))
		gmt_event_wake();
}

/* Slow path: pushes an event that has its stacks, after gmt_event_slot returned NULL. */
void gmt_event_push(const struct gmt_ring_event *event);

#endif
