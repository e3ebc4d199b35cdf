/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_CALL_H
#define GMT_WRAPPERS_CALL_H

/*
 * What a wrapper does around the real function. In the flow: wrapper -> call -> capture -> ring.
 *
 * The driver is the truth and the runtime gives names: the outermost of nested driver calls is an event,
 * and its api is the outermost hooked function of the thread (cudaMalloc, for the cuMemAlloc_v2 inside
 * it). A runtime function inside which no driver call was seen is an event itself. Events wait in the
 * thread until the outermost function returns, and share the stack of its caller.
 *
 * What ends something is stamped before the real call, all else after it (producer/clock.h). Nothing is
 * recorded of a call that failed, but that it failed, for the kinds that say so (format/kinds.def). errno is the
 * real function's afterwards.
 *
 *	struct gmt_call call = gmt_call_begin(GMT_HOOK_..., GMT_CALL_DRIVER, GMT_KIND_...);
 *	result = real(...);
 *	if (gmt_call_is_event(&call))
 *		gmt_call_add(&call, result, &(struct gmt_call_facts){ ... });
 *	gmt_call_end(&call);
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/call_counts.h"
#include "hooks/hooks.h"
#include "runtime/process.h"
#include "producer/clock.h"
#include "producer/oom.h"
#include "producer/thread.h"
#include "format/format.h"

enum gmt_call_role { GMT_CALL_DRIVER, GMT_CALL_RUNTIME };

/*
 * What a call of that role adds to gmt_thread_state::depth. In one word, as each call looks at both halves: two would be put
 * together by the compiler anyway, and read as one behind the store of a half, which the processor waits for.
 */
#define GMT_CALL_DRIVER_SHIFT 32
#define GMT_CALL_DEPTH_OF(role) ((role) == GMT_CALL_DRIVER ? ((uint64_t)1 << GMT_CALL_DRIVER_SHIFT) + 1 : 1)

/* How a call stands to those around it. */
enum gmt_call_standing {
	GMT_CALL_INSIDE, /* of one of its role, which counts */
	GMT_CALL_COUNTS,
	GMT_CALL_REENTRANT,  /* made by a signal handler that interrupted the recorder, or by the recorder itself: nothing is touched */
};

/*
 * One call of a wrapped function. Wrappers hand its address to nothing that is not inlined, but with what is rare: so it
 * lies in registers.
 */
struct gmt_call {
	uint64_t stamp; /* before the call, of kinds that want it */
	enum gmt_call_role role;
	enum gmt_call_standing standing;
};

/* What a wrapper knows when the real function has returned. */
struct gmt_call_facts {
	uint8_t kind;  /* enum gmt_kind, of a success */
	uint8_t space; /* enum gmt_space */
	int device_plus_1; /* 0: the device of the stream, or of the current context; -1: the host */
	uint64_t address; /* or handle; 0: nothing was allocated or freed */
	uint64_t size_bytes;
	uint64_t stream;
	uint64_t object;
	uint16_t context; /* 0: the stream's, or the current one */
};

/*
 * Where the thread is busy or shut. True for a call that a signal handler makes: the call is passed on, and counted as lost
 * if it may be an event. False if nothing is interrupted: the recorder was left by a jump or a fork, and is in order again.
 * `cfa` and `caller` are the wrapper's (outer_call.h).
 */
bool gmt_call_is_reentrant(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller, enum gmt_hook hook, enum gmt_kind kind);

/*
 * Where a call begins inside others, and is one that the driver does not make for itself, as it seems. Returns how it stands:
 * GMT_CALL_INSIDE as it seemed; GMT_CALL_COUNTS if the outer calls were left by a jump, and the thread is in none; GMT_CALL_REENTRANT
 * if a signal handler makes it, which is counted as for gmt_call_is_reentrant.
 */
enum gmt_call_standing gmt_call_look_again(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller, enum gmt_hook hook,
	enum gmt_kind kind);

/* Always inlined: what a wrapper is known to be leaves little of it. */
__attribute__((always_inline)) static inline struct gmt_call gmt_call_begin(enum gmt_hook hook, enum gmt_call_role role,
	enum gmt_kind kind)
{
	gmt_process_check();

	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_call call = { .role = role };
	const uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();

	if (__builtin_expect(thread->busy | thread->shut, 0) &&
		gmt_call_is_reentrant(thread, cfa, __builtin_return_address(0), hook, kind)) {
		call.standing = GMT_CALL_REENTRANT;
		return call;
	}
	thread->shut = GMT_CLOSED_BEGIN;
	atomic_signal_fence(memory_order_seq_cst);

	uint64_t around = thread->depth, of_its_role = role == GMT_CALL_DRIVER ? around >> GMT_CALL_DRIVER_SHIFT : around;
	bool is_stamped = gmt_kind_stamp(kind) == GMT_STAMP_BEFORE;

	/* A call that lies inside another one is deeper on the stack, and rarely of the same role. */
	if (__builtin_expect(around && (of_its_role || cfa >= thread->outer_cfa), 0)) {
		enum gmt_call_standing found = gmt_call_look_again(thread, cfa, __builtin_return_address(0), hook, kind);

		if (found == GMT_CALL_REENTRANT) {
			call.standing = GMT_CALL_REENTRANT;
			return call;
		}
		if (found == GMT_CALL_COUNTS)
			around = of_its_role = 0;
	}
	thread->depth = around + GMT_CALL_DEPTH_OF(role);

	if (!around) {
		thread->outer_cfa = cfa;
		/* One store: nothing waits yet. */
		thread->outermost = (uint16_t)hook;
		thread->outer_kind = (uint8_t)kind;
		thread->waiting_count = 0;
		thread->before = call.stamp = is_stamped ? gmt_clock_stamp() : 0;
		call.standing = GMT_CALL_COUNTS;
	} else if (!of_its_role) {
		/* What the runtime ends, it ends by the driver: the first event inside has its stamp. */
		if (is_stamped)
			call.stamp = thread->before && !thread->has_seen_event ? thread->before : gmt_clock_stamp();
		call.standing = GMT_CALL_COUNTS;
	}
	gmt_call_count_in(thread->call_counts, hook);
	atomic_signal_fence(memory_order_seq_cst);
	thread->shut = 0;
	return call;
}

/* Whether this call is an event, now that the real function has returned. */
__attribute__((always_inline)) static inline bool gmt_call_is_event(const struct gmt_call *call)
{
	return call->standing == GMT_CALL_COUNTS && (call->role == GMT_CALL_DRIVER || !gmt_this_thread.has_seen_event);
}

/* For gmt_call_add, of a call that was stamped so. */
void gmt_call_add_stamped(uint64_t stamp, uint32_t result, const struct gmt_call_facts *facts);

/*
 * The same of calls that succeeded, of memory that is a device's and of the layer cuda, where no more is to be said: most are
 * that, and nothing of it has to lie in memory.
 */
void gmt_call_add_alloc(uint64_t address, uint64_t size_bytes, enum gmt_space space);
void gmt_call_add_free(uint64_t stamp, uint64_t address, enum gmt_space space);

/* Adds the event of a call that returned `result` (0 is success). May be done several times. */
__attribute__((always_inline)) static inline void gmt_call_add(const struct gmt_call *call, uint32_t result,
	const struct gmt_call_facts *facts)
{
	gmt_call_add_stamped(call->stamp, result, facts);
}

/* For gmt_call_end: records what waits, and opens the thread again. */
void gmt_call_end_outermost(struct gmt_thread_state *thread);

/*
 * For gmt_call_end: a call ends that adds `own` to the depth, and the thread does not know it. It began before a fork and ends
 * in the child, or gmt_call_look_again took it for one that was left.
 */
void gmt_call_end_unknown(struct gmt_thread_state *thread, uint64_t own);

/*
 * In the child of a fork, on the thread that forked. Returns whether a signal handler forked while it interrupted the
 * recorder: then the interrupted code goes on when the handler returns, and still uses what it used.
 */
bool gmt_call_after_fork(void);

/* Leaves the wrapper; the outermost one records what waits. */
__attribute__((always_inline)) static inline void gmt_call_end(const struct gmt_call *call)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (__builtin_expect(call->standing == GMT_CALL_REENTRANT, 0)) {
		/* A jump or a fork meanwhile has set it to 0. */
		thread->apart -= thread->apart != 0;
		return;
	}
	thread->shut = GMT_CLOSED_CHANGE;
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
	thread->shut = 0;
}

#endif
