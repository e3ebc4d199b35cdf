/* SPDX-License-Identifier: MIT */
#include "wrappers/call.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "marks/optimizer.h"
#include "producer/outer_call.h"
#include "producer/record_event.h"
#include "producer/record_one_event.h"
#include "writer/session.h"
#include "interpose/driver.h"

/* Frees do not say of which device and context: the block knows. Nor does what is bound: the memory knows. */
static inline bool needs_place(unsigned kind)
{
	enum {
		NEEDS_NONE = 1 << GMT_KIND_FREE | 1 << GMT_KIND_FREE_FAILED | 1 << GMT_KIND_UNMAP | 1 << GMT_KIND_BIND |
			1 << GMT_KIND_BIND_ADDRESS,
	};

	return !(NEEDS_NONE >> kind & 1);
}

_Static_assert(GMT_KIND_COUNT <= 31, "a bit of an int for each kind");

/* Built where it waits: to be copied right after it was written would cost more than all the rest of this. */
static inline void fill_event(struct gmt_ring_event *event, uint64_t stamp, uint32_t result, unsigned kind, unsigned layer,
	const struct gmt_call_facts *facts, struct gmt_driver_place place)
{
	/* One by one: a whole that is assigned would first be gathered, as it might overlap what it is made of. */
	event->stamp = stamp;
	event->address = facts->address;
	event->size_bytes = facts->size_bytes;
	event->stream = facts->stream;
	event->object = facts->object;
	event->stack = event->frames = 0;
	event->result = result;
	event->api = gmt_this_thread.outermost;
	event->device = place.device;
	event->kind = (uint8_t)kind;
	event->layer = (uint8_t)layer;
	event->space = facts->space;
	memset(event->unused, 0, sizeof(event->unused));
	event->context = place.context;
}

/* Where it happened, as far as the facts say it; else where the driver does. */
static inline struct gmt_driver_place place_of(const struct gmt_call_facts *facts, unsigned side,
	struct gmt_driver_place driver_says)
{
	bool is_host = side == GMT_SIDE_HOST || facts->device_plus_1 < 0;

	return (struct gmt_driver_place){
		.device = (int16_t)(is_host ? GMT_DEVICE_HOST : facts->device_plus_1 ? facts->device_plus_1 - 1 : driver_says.device),
		.context = facts->context ? facts->context : driver_says.context,
	};
}

/*
 * While what waits is being changed. A signal handler that calls a hooked function then is told from the calls
 * inside the interrupted one by this (gmt_call_begin).
 */
static void shut(struct gmt_thread_state *thread)
{
	thread->shut = GMT_CLOSED_CHANGE;
	atomic_signal_fence(memory_order_seq_cst);
}

static void open_again(struct gmt_thread_state *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->shut = 0;
}

/* Forgets the events that wait. */
static void drop_waiting(struct gmt_thread_state *thread)
{
	thread->waiting_count = 0;
	thread->has_seen_event = thread->is_oom = false;
}

/* A call that a signal handler makes: it is passed on, and nothing of the thread is touched. */
static void set_apart(struct gmt_thread_state *thread, enum gmt_hook hook, enum gmt_kind kind)
{
	/* Of a runtime's function, what the driver did inside is not counted once more. */
	if (kind && !thread->apart && !thread->is_ours)
		gmt_session_count_loss(GMT_LOSS_REENTERED);
	thread->apart++;
	gmt_call_count(hook);
}

bool gmt_call_is_reentrant(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller, enum gmt_hook hook, enum gmt_kind kind)
{
	/* What a handler interrupted when it forked has returned. What still waits is the parent's. */
	if (thread->busy == GMT_IN_RECORDER_FORKED && !thread->shut) {
		drop_waiting(thread);
		thread->busy = 0;
		return false;
	}
	if (!thread->is_ours && gmt_outer_call_look(thread, cfa, caller) == GMT_OUTER_CALL_GONE) {
		gmt_outer_call_forget(thread);
		return false;
	}
	set_apart(thread, hook, kind);
	return true;
}

enum gmt_call_standing gmt_call_look_again(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller, enum gmt_hook hook,
	enum gmt_kind kind)
{
	switch (gmt_outer_call_look(thread, cfa, caller)) {
	case GMT_OUTER_CALL_GONE:
		gmt_outer_call_forget(thread);
		/* As the caller had it. */
		thread->shut = GMT_CLOSED_BEGIN;
		return GMT_CALL_COUNTS;
	case GMT_OUTER_CALL_INTERRUPTED:
		set_apart(thread, hook, kind);
		open_again(thread);
		return GMT_CALL_REENTRANT;
	case GMT_OUTER_CALL_AROUND:
		break;
	}
	return GMT_CALL_INSIDE;
}

/* In the order of the stamps, as a free of a call is stamped before what happens in it. */
__attribute__((noinline)) static void sort_waiting(struct gmt_thread_state *thread)
{
	for (unsigned i = 1; i < thread->waiting_count; i++)
		for (unsigned j = i; j && thread->waiting[j].stamp < thread->waiting[j - 1].stamp; j--) {
			struct gmt_ring_event earlier = thread->waiting[j];

			thread->waiting[j] = thread->waiting[j - 1];
			thread->waiting[j - 1] = earlier;
		}
}

/* Records what waits. True when a refusal for lack of memory was among it. */
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

/* The same, where one event waits, as nearly always. */
static inline void flush_one(struct gmt_thread_state *thread)
{
	struct gmt_ring_event *event = &thread->waiting[0], *place;
	struct gmt_event_stacks stacks = { 0 };

	thread->waiting_count = 0;
	if (!gmt_event_enter(thread))
		return;
	if (!gmt_event_is_on()) {
		gmt_event_end_first(event);
		return;
	}
	if (gmt_event_wants_stack(event->kind, event->address, event->object))
		stacks = gmt_event_capture(thread);
	place = gmt_event_place(thread);
	if (__builtin_expect(place != NULL, 1)) {
		*place = *event;
		/* Not before: what was stored in parts and is loaded as a whole right behind that waits. */
		place->stack = stacks.stack;
		place->frames = stacks.frames;
		gmt_event_publish(thread);
	} else {
		event->stack = stacks.stack;
		event->frames = stacks.frames;
		gmt_event_push(event);
	}
	gmt_event_leave(thread);
}

/* One call that does very much: what waits gets the stack of here. */
__attribute__((noinline)) static void make_room(struct gmt_thread_state *thread)
{
	if (flush(thread))
		gmt_oom_wait();
}

/* Room for one more event, which waits from now on. */
static struct gmt_ring_event *wait_for_end(struct gmt_thread_state *thread)
{
	if (__builtin_expect(thread->waiting_count == GMT_THREAD_WAITING, 0))
		make_room(thread);

	struct gmt_ring_event *event = &thread->waiting[thread->waiting_count++];

	/* Of a place in thread-local memory the compiler works out the address again for each word. */
	__asm__("" : "+r"(event));
	return event;
}

/* Asked before the stack is taken: other threads go on allocating. */
__attribute__((noinline)) static void ask_what_is_left(struct gmt_thread_state *thread, const struct gmt_ring_event *refused)
{
	struct gmt_ring_event driver_says;

	gmt_oom_ask(refused, &driver_says);
	*wait_for_end(thread) = driver_says;
	thread->is_oom = true;
}

__attribute__((always_inline)) static inline void add(uint64_t stamp, uint32_t result, unsigned kind,
	const struct gmt_call_facts *facts)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	/* One that there is, as wrappers name them. */
	const struct gmt_space_traits *space = &gmt_spaces[facts->space];
	struct gmt_driver_place place = { GMT_DEVICE_UNKNOWN, 0 };
	struct gmt_ring_event *event;

	/* Zero bytes were asked for and given, or nothing was freed. */
	if (!kind || (!facts->address && kind != GMT_KIND_ALLOC_FAILED))
		return;
	shut(thread);
	/* A driver that refused the call for another reason may not have looked at the stream, which is anything then. */
	if (needs_place(kind))
		place = gmt_driver_place(result && result != GMT_OOM_RESULT ? 0 : facts->stream);
	event = wait_for_end(thread);
	fill_event(event, stamp ? stamp : gmt_clock_stamp(), result, kind, space->layer, facts, place_of(facts, space->side, place));
	thread->has_seen_event = true;
	if (result == GMT_OOM_RESULT && kind == GMT_KIND_ALLOC_FAILED)
		ask_what_is_left(thread, event);
	open_again(thread);
}

__attribute__((noinline)) static void add_refused(uint64_t stamp, uint32_t result, const struct gmt_call_facts *facts)
{
	add(stamp, result, gmt_kind_failure(facts->kind), facts);
}

void gmt_call_add_stamped(uint64_t stamp, uint32_t result, const struct gmt_call_facts *facts)
{
	if (__builtin_expect(result != 0, 0)) {
		add_refused(stamp, result, facts);
		return;
	}
	add(stamp, 0, facts->kind, facts);
	/* With its backend cudaMallocAsync, PyTorch tells of no blocks: these are its own. */
	if (__builtin_expect(facts->space == GMT_SPACE_POOL, 0) && facts->kind == GMT_KIND_ALLOC && facts->address)
		gmt_optimizer_see_block();
}

/* What gmt_call_add_alloc and gmt_call_add_free are for: that nothing has to be found out of them is what they save. */
static inline void add_plain(struct gmt_thread_state *thread, uint64_t stamp, enum gmt_kind kind,
	const struct gmt_call_facts *facts, struct gmt_driver_place place)
{
	fill_event(wait_for_end(thread), stamp, 0, kind, GMT_LAYER_CUDA, facts, place);
	thread->has_seen_event = true;
}

void gmt_call_add_alloc(uint64_t address, uint64_t size_bytes, enum gmt_space space)
{
	const struct gmt_call_facts facts = { .space = (uint8_t)space, .address = address, .size_bytes = size_bytes };
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (!address)
		return;
	shut(thread);

	struct gmt_driver_place place = gmt_driver_place(0);

	add_plain(thread, gmt_clock_stamp(), GMT_KIND_ALLOC, &facts, place);
	open_again(thread);
}

void gmt_call_add_free(uint64_t stamp, uint64_t address, enum gmt_space space)
{
	const struct gmt_call_facts facts = { .space = (uint8_t)space, .address = address };
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (!address)
		return;
	shut(thread);
	add_plain(thread, stamp, GMT_KIND_FREE, &facts, (struct gmt_driver_place){ GMT_DEVICE_UNKNOWN, 0 });
	open_again(thread);
}

void gmt_call_end_unknown(struct gmt_thread_state *thread, uint64_t own)
{
	if (!thread->parent_depth) {
		thread->depth = 0;
		gmt_call_end_outermost(thread);
		return;
	}
	/* The parent records the call, unless the fork came right before the driver: nobody knows, so it counts here. */
	drop_waiting(thread);
	thread->parent_depth -= own < thread->parent_depth ? own : thread->parent_depth;
	if (!thread->parent_depth && thread->parent_kind)
		gmt_session_count_loss(GMT_LOSS_JUMPED);
	open_again(thread);
}

bool gmt_call_after_fork(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	uint64_t depth = thread->depth + thread->parent_depth; /* of a child that forks in the same call, too */

	if (!(thread->busy & GMT_IN_RECORDER_RECORDING) && !thread->shut) {
		uint8_t kind = thread->parent_depth ? thread->parent_kind : thread->outer_kind;

		memset(thread, 0, sizeof(*thread));
		thread->parent_depth = depth;
		thread->parent_kind = kind;
		return false;
	}
	/* A call that begins is this process's own: the driver is called later. All else is of a call that the parent made. */
	if (thread->busy || thread->shut != GMT_CLOSED_BEGIN)
		thread->busy |= GMT_IN_RECORDER_FORKED;
	else
		drop_waiting(thread);
	thread->tid = 0;
	thread->refused = 0;
	thread->is_no_guest = false;
	return true;
}

void gmt_call_end_outermost(struct gmt_thread_state *thread)
{
	bool is_oom = false;

	if (__builtin_expect(thread->waiting_count == 1 && !thread->is_oom, 1))
		flush_one(thread);
	else if (thread->waiting_count)
		is_oom = flush(thread);
	thread->has_seen_event = false;
	open_again(thread);
	if (is_oom)
		gmt_oom_wait();
}
