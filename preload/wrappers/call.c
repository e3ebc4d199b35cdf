/* SPDX-License-Identifier: MIT */
#include "wrappers/call.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "marks/optimizer_steps.h"
#include "producer/outer_call.h"
#include "producer/event.h"
#include "producer/event_fast_path.h"
#include "producer/losses.h"
#include "driver/driver_queries.h"

/*
 * Returns whether an event needs a device and context. A free does not, because the block has them.
 * A binding does not, because the bound memory has them.
 */
static inline bool needs_target(unsigned kind)
{
	enum {
		NEEDS_NONE = 1 << GMT_KIND_FREE | 1 << GMT_KIND_FREE_FAILED | 1 << GMT_KIND_UNMAP |
			1 << GMT_KIND_BIND | 1 << GMT_KIND_BIND_ADDRESS,
	};

	return !(NEEDS_NONE >> kind & 1);
}

_Static_assert(GMT_KIND_COUNT <= 31, "a bit of an int for each kind");

/*
 * Writes the event to its slot. Building it elsewhere and copying it would cost more than the rest
 * of this function.
 */
static inline void fill_event(struct gmt_ring_event *event, uint64_t stamp, uint32_t result,
	unsigned kind, unsigned layer, const struct gmt_call_details *details,
	struct gmt_driver_target target)
{
	/*
	 * Assigns each member separately. For the assignment of a whole structure, the compiler would
	 * first build a temporary, because source and target might overlap.
	 */
	event->stamp = stamp;
	event->address = details->address;
	event->size_bytes = details->size_bytes;
	event->stream = details->stream;
	event->object = details->object;
	event->stack = event->frames = 0;
	event->result = result;
	event->api = gmt_this_thread.outermost;
	event->device = target.device;
	event->kind = (uint8_t)kind;
	event->layer = (uint8_t)layer;
	event->space = details->space;
	memset(event->unused, 0, sizeof(event->unused));
	event->context = target.context;
}

/* Returns the target of a call: from the details if they have it, else from the driver. */
static inline struct gmt_driver_target target_of(const struct gmt_call_details *details,
	unsigned side, struct gmt_driver_target from_driver)
{
	bool is_host = side == GMT_SIDE_HOST || details->device_plus_1 < 0;

	return (struct gmt_driver_target){
		.device = (int16_t)(is_host      ? GMT_DEVICE_HOST
				: details->device_plus_1 ? details->device_plus_1 - 1
										 : from_driver.device),
		.context = details->context ? details->context : from_driver.context,
	};
}

/*
 * Closes the thread while its waiting events change. So gmt_call_begin recognizes the call of a
 * signal handler, and does not take it for a call nested in the interrupted call.
 */
static void close_thread(struct gmt_thread_state *thread)
{
	thread->closed = GMT_CLOSED_CHANGE;
	atomic_signal_fence(memory_order_seq_cst);
}

static void reopen_thread(struct gmt_thread_state *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->closed = 0;
}

/* Counts a call that a signal handler makes. */
static void count_reentrant(struct gmt_thread_state *thread, enum gmt_hook hook,
	enum gmt_event_kind kind)
{
	/* Only the handler's outermost call is lost: a driver call inside it is the same event. */
	if (kind && !thread->reentrant_depth && !thread->is_recorder_thread)
		gmt_count_loss(GMT_LOSS_REENTERED);
	thread->reentrant_depth++;
	gmt_call_counts_add_shared(hook);
}

bool gmt_call_is_reentrant(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller,
	enum gmt_hook hook, enum gmt_event_kind kind)
{
	/*
	 * A signal handler forked during an event, and the interrupted code has returned since. Events
	 * that still wait are the parent's.
	 */
	if (thread->in_recorder == GMT_IN_RECORDER_FORKED && !thread->closed) {
		gmt_thread_drop_waiting(thread);
		thread->in_recorder = 0;
		return false;
	}
	if (!thread->is_recorder_thread &&
		gmt_outer_call_check(thread, cfa, caller) == GMT_OUTER_CALL_ABANDONED) {
		gmt_outer_call_abandon(thread);
		return false;
	}
	count_reentrant(thread, hook, kind);
	return true;
}

enum gmt_call_nesting gmt_call_recheck_nesting(struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller, enum gmt_hook hook, enum gmt_event_kind kind)
{
	switch (gmt_outer_call_check(thread, cfa, caller)) {
	case GMT_OUTER_CALL_ABANDONED:
		gmt_outer_call_abandon(thread);
		/* Restores the caller's value. */
		thread->closed = GMT_CLOSED_BEGIN;
		return GMT_CALL_COUNTED;
	case GMT_OUTER_CALL_INTERRUPTED:
		count_reentrant(thread, hook, kind);
		reopen_thread(thread);
		return GMT_CALL_REENTRANT;
	case GMT_OUTER_CALL_ACTIVE:
		break;
	}
	return GMT_CALL_NESTED;
}

/*
 * Sorts the waiting events by stamp. The stamp of a free is earlier than those of events in its
 * call.
 */
__attribute__((noinline)) static void sort_waiting(struct gmt_thread_state *thread)
{
	for (unsigned i = 1; i < thread->waiting_count; i++)
		for (unsigned j = i; j && thread->waiting[j].stamp < thread->waiting[j - 1].stamp; j--) {
			struct gmt_ring_event earlier = thread->waiting[j];

			thread->waiting[j] = thread->waiting[j - 1];
			thread->waiting[j - 1] = earlier;
		}
}

/* Records the waiting events. Returns true if one of them is a refused request (oom.h). */
__attribute__((noinline)) static bool flush(struct gmt_thread_state *thread)
{
	bool is_oom = thread->is_oom;

	if (thread->waiting_count > 1)
		sort_waiting(thread);
	if (thread->waiting_count && gmt_event_begin())
		gmt_event_end(thread->waiting, thread->waiting_count);
	thread->waiting_count = 0;
	thread->is_oom = false;
	return is_oom;
}

/* Same as above, if exactly one event waits, which is nearly always so. */
static inline void flush_one(struct gmt_thread_state *thread)
{
	struct gmt_ring_event *event = &thread->waiting[0], *slot;
	struct gmt_event_stacks stacks = { 0 };

	thread->waiting_count = 0;
	if (!gmt_event_enter(thread))
		return;
	if (!gmt_event_is_on()) {
		gmt_event_end_slow(event);
		return;
	}
	if (gmt_event_wants_stack(event->kind, event->address, event->object))
		stacks = gmt_event_capture(thread);
	slot = gmt_event_slot(thread);
	if (__builtin_expect(slot != NULL, 1)) {
		*slot = *event;
		/*
		 * Sets the stacks in the copy. Setting them before would stall the copy: it would load the
		 * whole event right after a store to a part of it.
		 */
		slot->stack = stacks.native;
		slot->frames = stacks.python;
		gmt_event_publish(thread);
	} else {
		event->stack = stacks.native;
		event->frames = stacks.python;
		gmt_event_push(event);
	}
	gmt_event_leave(thread);
}

/*
 * Records the waiting events before the call ends, because it makes many. They get the present
 * stack.
 */
__attribute__((noinline)) static void flush_early(struct gmt_thread_state *thread)
{
	if (flush(thread))
		gmt_oom_wait();
}

/* Returns a slot for one more event, which waits until the outermost call ends. */
static struct gmt_ring_event *new_waiting_event(struct gmt_thread_state *thread)
{
	if (__builtin_expect(thread->waiting_count == GMT_THREAD_WAITING, 0))
		flush_early(thread);

	struct gmt_ring_event *event = &thread->waiting[thread->waiting_count++];

	/*
	 * Keeps the address in a register. Otherwise the compiler computes the address of thread-local
	 * memory again for each member.
	 */
	__asm__("" : "+r"(event));
	return event;
}

/*
 * Adds an event with the free memory after a refused request. Asks the driver before the stack is
 * taken, because other threads continue to allocate.
 */
__attribute__((noinline)) static void add_free_memory(struct gmt_thread_state *thread,
	const struct gmt_ring_event *refused)
{
	struct gmt_ring_event from_driver;

	gmt_oom_query_free_memory(refused, &from_driver);
	*new_waiting_event(thread) = from_driver;
	thread->is_oom = true;
}

__attribute__((always_inline)) static inline void add(uint64_t stamp, uint32_t result,
	unsigned kind, const struct gmt_call_details *details)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	const struct gmt_space_traits *space = &gmt_spaces[details->space];
	struct gmt_driver_target target = { GMT_DEVICE_UNKNOWN, 0 };
	struct gmt_ring_event *event;

	/* The program requested zero bytes, or freed a null pointer. */
	if (!kind || (!details->address && kind != GMT_KIND_ALLOC_FAILED))
		return;
	close_thread(thread);
	/* If the driver refused the call for another reason than memory, the stream may be invalid. */
	if (needs_target(kind))
		target = gmt_driver_target(result && result != GMT_OOM_RESULT ? 0 : details->stream);
	event = new_waiting_event(thread);
	fill_event(event, stamp ? stamp : gmt_clock_stamp(), result, kind, space->layer, details,
		target_of(details, space->side, target));
	thread->has_seen_event = true;
	if (result == GMT_OOM_RESULT && kind == GMT_KIND_ALLOC_FAILED)
		add_free_memory(thread, event);
	reopen_thread(thread);
}

__attribute__((noinline)) static void add_refused(uint64_t stamp, uint32_t result,
	const struct gmt_call_details *details)
{
	add(stamp, result, gmt_event_kind_failure(details->kind), details);
}

void gmt_call_add_stamped(uint64_t stamp, uint32_t result, const struct gmt_call_details *details)
{
	if (__builtin_expect(result != 0, 0)) {
		add_refused(stamp, result, details);
		return;
	}
	add(stamp, 0, details->kind, details);
	/* PyTorch's backend cudaMallocAsync does not report its blocks: they are these pool blocks. */
	if (__builtin_expect(details->space == GMT_SPACE_POOL, 0) && details->kind == GMT_KIND_ALLOC &&
		details->address)
		gmt_optimizer_on_block();
}

/* Adds an event for gmt_call_add_alloc or gmt_call_add_free, which need no look-up of the space. */
static inline void add_plain(struct gmt_thread_state *thread, uint64_t stamp,
	enum gmt_event_kind kind, const struct gmt_call_details *details,
	struct gmt_driver_target target)
{
	fill_event(new_waiting_event(thread), stamp, 0, kind, GMT_LAYER_CUDA, details, target);
	thread->has_seen_event = true;
}

void gmt_call_add_alloc(uint64_t address, uint64_t size_bytes, enum gmt_space space)
{
	const struct gmt_call_details details = {
		.space = (uint8_t)space, .address = address, .size_bytes = size_bytes
	};
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (!address)
		return;
	close_thread(thread);

	struct gmt_driver_target target = gmt_driver_target(0);

	add_plain(thread, gmt_clock_stamp(), GMT_KIND_ALLOC, &details, target);
	reopen_thread(thread);
}

void gmt_call_add_free(uint64_t stamp, uint64_t address, enum gmt_space space)
{
	const struct gmt_call_details details = { .space = (uint8_t)space, .address = address };
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (!address)
		return;
	close_thread(thread);
	add_plain(thread, stamp, GMT_KIND_FREE, &details,
		(struct gmt_driver_target){ GMT_DEVICE_UNKNOWN, 0 });
	reopen_thread(thread);
}

void gmt_call_end_unknown(struct gmt_thread_state *thread, uint64_t own)
{
	if (!thread->parent_depth) {
		thread->depth = 0;
		gmt_call_end_outermost(thread);
		return;
	}
	/*
	 * The parent records the call, unless the fork came right before the driver's call. This
	 * process cannot know that, so it counts the call as lost.
	 */
	gmt_thread_drop_waiting(thread);
	thread->parent_depth -= own < thread->parent_depth ? own : thread->parent_depth;
	if (!thread->parent_depth && thread->parent_kind)
		gmt_count_loss(GMT_LOSS_ABANDONED_CALL);
	reopen_thread(thread);
}

void gmt_call_end_outermost(struct gmt_thread_state *thread)
{
	bool is_oom = false;

	if (__builtin_expect(thread->waiting_count == 1 && !thread->is_oom, 1))
		flush_one(thread);
	else if (thread->waiting_count)
		is_oom = flush(thread);
	thread->has_seen_event = false;
	reopen_thread(thread);
	if (is_oom)
		gmt_oom_wait();
}
