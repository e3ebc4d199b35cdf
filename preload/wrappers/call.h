/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_CALL_H
#define GMT_WRAPPERS_CALL_H

/*
 * What a wrapper does around the original function: it decides whether the call is an event, and
 * records the event.
 *
 * Of nested driver calls, the outermost call makes the event. The event's api is the outermost
 * hooked function of the thread: cudaMalloc, for the cuMemAlloc_v2 inside it. A call of the runtime
 * makes an event itself only if the recorder sees no driver call inside it. Events wait in the
 * thread until the outermost function returns. They share the stack of its caller.
 *
 * If a call frees or ends something, the event gets the time before the original call. All other
 * events get the time after it (producer/clock.h). A failed call is recorded only if its kind has a
 * failure kind (format/event_kinds.def). The program gets the errno of the original function.
 *
 *	struct gmt_call call = gmt_call_begin(GMT_HOOK_..., GMT_CALL_DRIVER, GMT_KIND_...);
 *	result = original(...);
 *	if (gmt_call_is_event(&call))
 *		gmt_call_add(&call, result, &(struct gmt_call_details){ ... });
 *	gmt_call_end(&call);
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/call_counts.h"
#include "hooks/hooks.h"
#include "runtime/fork_detection.h"
#include "producer/clock.h"
#include "driver/oom.h"
#include "producer/thread_state.h"
#include "format/format.h"

enum gmt_call_role { GMT_CALL_DRIVER, GMT_CALL_RUNTIME };

/*
 * The amount that a call of this role adds to gmt_thread_state::depth. The lower half counts all
 * calls, the upper half the driver calls. Both are one word, because each call reads both. The
 * compiler would merge the loads of two words, and a merged load right after a store to one of them
 * would stall the processor.
 */
#define GMT_CALL_DRIVER_SHIFT 32
#define GMT_CALL_DEPTH_OF(role) \
	((role) == GMT_CALL_DRIVER ? ((uint64_t)1 << GMT_CALL_DRIVER_SHIFT) + 1 : 1)

/* The relation of a call to the calls around it. */
enum gmt_call_nesting {
	/* A driver call inside a driver call, or a runtime call inside any call: makes no event */
	GMT_CALL_NESTED,
	GMT_CALL_COUNTED, /* may make an event */
	/*
	 * Made by the recorder itself, or by a signal handler that interrupted the recorder. Makes no
	 * event, and changes only `reentrant_depth` of the thread's state.
	 */
	GMT_CALL_REENTRANT,
};

/*
 * One call of a wrapped function. Hot wrappers pass its address only to inlined functions, so the
 * compiler keeps it in registers. Rare paths may pass it on.
 */
struct gmt_call {
	uint64_t stamp; /* the time before the call, for kinds that need it; else 0 */
	enum gmt_call_role role;
	enum gmt_call_nesting nesting;
};

/* The event of a call, as the wrapper knows it when the original function has returned. */
struct gmt_call_details {
	uint8_t kind;  /* enum gmt_event_kind of a successful call */
	uint8_t space; /* enum gmt_space */
	int device_plus_1; /* 0: the device of the stream, or of the current context; -1: the host */
	uint64_t address; /* or handle; 0: no event, unless an allocation was refused */
	uint64_t size_bytes;
	uint64_t stream;
	uint64_t object;
	uint16_t context; /* 0: the stream's context, or the current context */
};

/*
 * Examines a call that begins while the thread is in the recorder or closed. Returns true if a
 * signal handler makes the call. The wrapper then only calls the original function, and the call
 * counts as lost if it may be an event. Returns false if the call interrupts nothing: a jump or a
 * fork has left the recorder, and this function has reset the thread's state. `cfa` and `caller`
 * are the wrapper's (outer_call.h).
 */
bool gmt_call_is_reentrant(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller,
	enum gmt_hook hook, enum gmt_event_kind kind);

/*
 * Examines a call that seems to begin inside other calls, if it has the role of an outer call or is
 * not deeper on the stack than the outermost call.
 *
 * Returns GMT_CALL_NESTED if the outer calls are still on the stack. Returns GMT_CALL_COUNTED if a
 * jump has left the outer calls, so the thread is in no call. Returns GMT_CALL_REENTRANT if a
 * signal handler makes the call, and counts it as gmt_call_is_reentrant does.
 */
enum gmt_call_nesting gmt_call_recheck_nesting(struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller, enum gmt_hook hook, enum gmt_event_kind kind);

/*
 * Begins a call. `kind` is that of a successful call. Always inlined: the arguments are constants
 * in a wrapper, so little code remains.
 */
__attribute__((always_inline)) static inline struct gmt_call gmt_call_begin(enum gmt_hook hook,
	enum gmt_call_role role, enum gmt_event_kind kind)
{
	gmt_fork_detection_check();

	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_call call = { .role = role };
	const uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();

	if (__builtin_expect(thread->in_recorder | thread->closed, 0) &&
		gmt_call_is_reentrant(thread, cfa, __builtin_return_address(0), hook, kind)) {
		call.nesting = GMT_CALL_REENTRANT;
		return call;
	}
	thread->closed = GMT_CLOSED_BEGIN;
	atomic_signal_fence(memory_order_seq_cst);

	uint64_t around = thread->depth,
			 of_its_role = role == GMT_CALL_DRIVER ? around >> GMT_CALL_DRIVER_SHIFT : around;
	bool is_stamped = gmt_event_kind_stamp(kind) == GMT_STAMP_BEFORE;

	/*
	 * A nested call is normally deeper on the stack, and a driver call in a runtime call. All other
	 * calls are checked.
	 */
	if (__builtin_expect(around && (of_its_role || cfa >= thread->outer_cfa), 0)) {
		enum gmt_call_nesting found =
			gmt_call_recheck_nesting(thread, cfa, __builtin_return_address(0), hook, kind);

		if (found == GMT_CALL_REENTRANT) {
			call.nesting = GMT_CALL_REENTRANT;
			return call;
		}
		if (found == GMT_CALL_COUNTED)
			around = of_its_role = 0;
	}
	thread->depth = around + GMT_CALL_DEPTH_OF(role);

	if (!around) {
		thread->outer_cfa = cfa;
		/* The compiler merges these into one store. No event waits yet. */
		thread->outermost = (uint16_t)hook;
		thread->outer_kind = (uint8_t)kind;
		thread->waiting_count = 0;
		thread->stamp_before = call.stamp = is_stamped ? gmt_clock_stamp() : 0;
		call.nesting = GMT_CALL_COUNTED;
	} else if (!of_its_role) {
		/*
		 * The runtime frees things by a driver call. So the first event inside a runtime call gets
		 * the time before the runtime call.
		 */
		if (is_stamped)
			call.stamp = thread->stamp_before && !thread->has_seen_event ? thread->stamp_before
																		 : gmt_clock_stamp();
		call.nesting = GMT_CALL_COUNTED;
	}
	gmt_call_counts_add(thread->call_counts, hook);
	atomic_signal_fence(memory_order_seq_cst);
	thread->closed = 0;
	return call;
}

/* Returns whether this call is an event. Call it after the original function has returned. */
__attribute__((always_inline)) static inline bool gmt_call_is_event(const struct gmt_call *call)
{
	return call->nesting == GMT_CALL_COUNTED &&
		(call->role == GMT_CALL_DRIVER || !gmt_this_thread.has_seen_event);
}

/* Same as gmt_call_add, with the stamp of the call. */
void gmt_call_add_stamped(uint64_t stamp, uint32_t result, const struct gmt_call_details *details);

/*
 * Same as above, for successful calls on device memory of layer cuda that have no further details.
 * Most calls are like this. Their details stay in registers.
 */
void gmt_call_add_alloc(uint64_t address, uint64_t size_bytes, enum gmt_space space);
void gmt_call_add_free(uint64_t stamp, uint64_t address, enum gmt_space space);

/* Adds an event of a call that returned `result` (0 is success). May be called several times. */
__attribute__((always_inline)) static inline void gmt_call_add(const struct gmt_call *call,
	uint32_t result, const struct gmt_call_details *details)
{
	gmt_call_add_stamped(call->stamp, result, details);
}

/* For gmt_call_end: records the waiting events and reopens the thread. */
void gmt_call_end_outermost(struct gmt_thread_state *thread);

/*
 * For gmt_call_end: ends a call that the thread's depth does not include, and that added `own` to
 * it. The call began before a fork and ends in the child, or gmt_call_recheck_nesting wrongly took
 * it for a call that was left.
 */
void gmt_call_end_unknown(struct gmt_thread_state *thread, uint64_t own);

/* Leaves the wrapper. The outermost wrapper records the waiting events. */
__attribute__((always_inline)) static inline void gmt_call_end(const struct gmt_call *call)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (__builtin_expect(call->nesting == GMT_CALL_REENTRANT, 0)) {
		/* `reentrant_depth` is already 0 if the call was left by a jump or a fork. */
		thread->reentrant_depth -= thread->reentrant_depth != 0;
		return;
	}
	thread->closed = GMT_CLOSED_CHANGE;
	atomic_signal_fence(memory_order_seq_cst);

	const uint64_t own = GMT_CALL_DEPTH_OF(call->role);

	if (thread->depth == own) {
		thread->depth = 0;
		gmt_call_end_outermost(thread);
		return;
	}
	if (__builtin_expect(thread->depth < own, 0)) {
		gmt_call_end_unknown(thread, own);
		return;
	}
	thread->depth -= own;
	atomic_signal_fence(memory_order_seq_cst);
	thread->closed = 0;
}

#endif
