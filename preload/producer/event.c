/* SPDX-License-Identifier: MIT */
#include "producer/event.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "producer/thread_stack_caches.h"
#include "unwind/native_capture.h"
#include "python/python_capture.h"
#include "runtime/config.h"
#include "producer/clock.h"
#include "producer/event_fast_path.h"
#include "unwind/object_map.h"
#include "producer/losses.h"
#include "producer/thread_ring.h"
#include "producer/session_state.h"
#include "producer/thread_state.h"
#include "runtime/hot_data.h"
#include "format/format.h"

/*
 * The number of changes of is_paused that wait for the writer. If there are more, the oldest are
 * lost.
 */
enum { KEPT_CHANGES = 64 };

static GMT_HOT_DATA _Atomic bool is_paused;
static struct {
	_Atomic uint32_t change_count;
	_Atomic uint64_t changes[KEPT_CHANGES]; /* stamp * 2 + the new state; 0: not written yet */
} pauses;

void gmt_event_pause_stacks(bool pause)
{
	uint32_t index = atomic_fetch_add_explicit(&pauses.change_count, 1, memory_order_relaxed);

	atomic_store_explicit(&is_paused, pause, memory_order_relaxed);
	/* Pairs with the acquire of gmt_event_next_pause_change. */
	atomic_store_explicit(&pauses.changes[index % KEPT_CHANGES], gmt_clock_stamp() << 1 | pause,
		memory_order_release);
	/* The writer reads the changes often enough, unless its start was delayed. */
	if (index % (KEPT_CHANGES / 2) == KEPT_CHANGES / 2 - 1)
		gmt_writer_calls.start_if_delayed();
}

bool gmt_event_next_pause_change(uint32_t *seen, uint64_t *ret_stamp, bool *ret_is_paused)
{
	uint32_t count = atomic_load_explicit(&pauses.change_count, memory_order_relaxed);

	if (count - *seen > KEPT_CHANGES)
		*seen = count - KEPT_CHANGES;
	if (*seen == count)
		return false;

	/* Resets the entry to 0. Otherwise the next round would take it for a change of that round. */
	uint64_t change =
		atomic_exchange_explicit(&pauses.changes[*seen % KEPT_CHANGES], 0, memory_order_acquire);
	if (!change)
		return false;
	++*seen;
	*ret_stamp = change >> 1;
	*ret_is_paused = change & 1;
	return true;
}

bool gmt_event_stacks_are_paused(void)
{
	return atomic_load_explicit(&is_paused, memory_order_relaxed);
}

bool gmt_event_begin(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (!gmt_event_enter(thread))
		return false;
	thread->kept_errno = errno;
	return true;
}

/* `native_stack` is the id of the native stack if it is already known, else 0. */
static struct gmt_event_stacks capture(struct gmt_depot *depot, uint32_t native_stack,
	const struct gmt_native_start *start)
{
	struct gmt_event_stacks stacks = { .native = native_stack };
	bool lost = false;

	uint32_t generation =
		gmt_config.native_stacks && !native_stack ? gmt_object_map_mark_used() : 0;
	struct gmt_thread_stack_caches *caches = gmt_thread_stack_caches_get();

	if (generation)
		stacks.native = gmt_native_capture(depot, gmt_config.depth, generation,
			caches ? &caches->walk : NULL, start, &lost);
	if (gmt_config.python_stacks && caches) {
		stacks.python = gmt_python_capture(depot, gmt_config.depth, &caches->trace, &lost);
		if (!stacks.python && caches->trace.may_be_other_interpreter)
			gmt_count_loss(GMT_LOSS_PYTHON);
	} else if (gmt_config.python_stacks) {
		lost = true;
	}
	if (lost && !(gmt_this_thread.in_recorder & GMT_IN_RECORDER_FORKED))
		gmt_count_loss(GMT_LOSS_STACK);
	return stacks;
}

/* `native_stack`: same as in capture(). */
__attribute__((noinline)) static struct gmt_event_stacks capture_rest(uint32_t native_stack,
	uint64_t ip, uint64_t sp, uint64_t fp)
{
	/*
	 * Takes ip, sp and fp as separate arguments, so that the fast path can keep them in registers.
	 */
	const struct gmt_native_start start = { ip, sp, fp };
	struct gmt_event_stacks stacks = { 0 };
	int kept_errno = errno;
	struct gmt_depot *depot = gmt_session_ensure_depot();

	if (depot && !gmt_event_stacks_are_paused())
		stacks = capture(depot, native_stack, &start);
	errno = kept_errno;
	return stacks;
}

__attribute__((noinline)) struct gmt_event_stacks gmt_event_capture_slow(
	struct gmt_thread_state *thread)
{
	const struct gmt_native_start start = gmt_native_start_here();
	const struct gmt_thread_stack_caches *caches = thread->stack_caches;
	uint32_t native_stack = 0;

	/*
	 * This code never changes errno. The caller checked that the recording is on, so there is a
	 * depot.
	 */
	if (__builtin_expect(caches && !gmt_event_stacks_are_paused() &&
				gmt_native_is_unchanged(&caches->walk, gmt_object_map_generation_fast(), &start),
			1)) {
		native_stack = caches->walk.id;
		if (__builtin_expect(!gmt_config.python_stacks, 1))
			return (struct gmt_event_stacks){ .native = native_stack };
	}
	return capture_rest(native_stack, start.ip, start.sp, start.fp);
}

void gmt_event_push(const struct gmt_ring_event *event)
{
	int kept_errno = errno;

	gmt_thread_ring_push(event);
	errno = kept_errno;
}

void gmt_event_end_slow(struct gmt_ring_event *event)
{
	gmt_this_thread.kept_errno = errno;
	gmt_event_end(event, 1);
}

void gmt_event_wake(void)
{
	int kept_errno = errno;

	gmt_writer_calls.wake();
	errno = kept_errno;
}

void gmt_event_end(struct gmt_ring_event *events, unsigned count)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_event_stacks stacks = { 0 };
	bool is_captured = false;

	/*
	 * If the recording is still starting, gmt_session_ensure_depot counts the first event as lost
	 * after its wait. This loop counts the others.
	 */
	bool is_on = gmt_session_ensure_depot();

	for (unsigned i = 1; !is_on && i < count && gmt_session_is_beginning(); i++)
		gmt_count_loss(GMT_LOSS_STARTING);
	for (unsigned i = 0; is_on && i < count; i++) {
		if (gmt_event_wants_stack(events[i].kind, events[i].address, events[i].object)) {
			if (!is_captured)
				stacks = gmt_event_capture(thread);
			is_captured = true;
			events[i].stack = stacks.native;
			events[i].frames = stacks.python;
		}
		gmt_thread_ring_push(&events[i]);
	}
	errno = thread->kept_errno;
	gmt_event_leave(thread);
}
