/* SPDX-License-Identifier: MIT */
#include "producer/outer_call.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "producer/thread_stack_caches.h"
#include "unwind/native_capture.h"
#include "unwind/memory_is_readable.h"
#include "producer/event_fast_path.h"
#include "producer/losses.h"
#include "producer/thread_ring.h"
#include "producer/session_state.h"
#include "runtime/stages.h"

enum {
	PAGE_BYTES = 4096,
	PAGES_MAX = 4096,         /* pages of a stack to check at most */
	NESTED_CALLERS = 256,
};

/*
 * Returns whether all memory between two addresses is readable. Then both are on one stack, because
 * stacks have guard pages.
 */
static bool is_one_stack(uintptr_t a, uintptr_t b)
{
	uintptr_t low = (a < b ? a : b) & ~(uintptr_t)(PAGE_BYTES - 1), high = a < b ? b : a;

	if (high - low > (uintptr_t)PAGES_MAX * PAGE_BYTES)
		return false;
	for (uintptr_t page = low; page < high; page += PAGE_BYTES)
		if (!gmt_memory_is_readable(page))
			return false;
	return true;
}

static bool is_on_signal_stack(void)
{
	stack_t stack;

	return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/*
 * Return addresses in code that calls inside other calls: libraries of the driver, and interposers.
 * Any thread may overwrite any entry. A caller without an entry is looked up again.
 */
static _Atomic uintptr_t nested_callers[NESTED_CALLERS];

static _Atomic uintptr_t *slot_of(const void *caller)
{
	return &nested_callers[((uintptr_t)caller >> 2) % NESTED_CALLERS];
}

/*
 * Sets ret_is_sure if the unwinder found the call. Otherwise the answer may be another one at
 * another time, because the unwinder cannot unwind some code.
 */
static enum gmt_outer_call check_stack(const struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller, bool *ret_is_sure)
{
	*ret_is_sure = false;
	switch (gmt_native_outer_recorder(caller)) {
	case GMT_NATIVE_RECORDER_IS_OUTSIDE:
		*ret_is_sure = true;
		return GMT_OUTER_CALL_ACTIVE;
	case GMT_NATIVE_RECORDER_IS_INTERRUPTED:
		return GMT_OUTER_CALL_INTERRUPTED;
	case GMT_NATIVE_RECORDER_IS_NOT:
		/* If the calls are on two stacks, each stack has frames that the other stack lacks. */
		return !cfa || !thread->depth || is_one_stack(cfa, thread->outer_cfa)
			? GMT_OUTER_CALL_ABANDONED
			: GMT_OUTER_CALL_ACTIVE;
	case GMT_NATIVE_RECORDER_IS_UNKNOWN:
		break;
	}
	return cfa && thread->depth && cfa >= thread->outer_cfa && !is_on_signal_stack() &&
			is_one_stack(cfa, thread->outer_cfa)
		? GMT_OUTER_CALL_ABANDONED
		: GMT_OUTER_CALL_ACTIVE;
}

enum gmt_outer_call gmt_outer_call_check(const struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller)
{
	bool may_be_nested = caller && cfa < thread->outer_cfa && !thread->in_recorder &&
		thread->closed != GMT_CLOSED_CHANGE;
	enum gmt_outer_call found;
	int kept_errno = errno;
	bool is_sure;

	if (may_be_nested &&
		atomic_load_explicit(slot_of(caller), memory_order_relaxed) == (uintptr_t)caller)
		return GMT_OUTER_CALL_ACTIVE;
	found = check_stack(thread, cfa, caller, &is_sure);
	if (may_be_nested && is_sure)
		atomic_store_explicit(slot_of(caller), (uintptr_t)caller, memory_order_relaxed);
	errno = kept_errno;
	return found;
}

/* Resets the caches of the thread, because the abandoned call may have left them half changed. */
static void reset_caches(struct gmt_thread_state *thread)
{
	struct gmt_thread_stack_caches *caches = thread->stack_caches;

	if (!caches)
		return;
	gmt_walk_init(&caches->walk);
	caches->trace.epoch = 0;
	atomic_store_explicit(&caches->trace.guard.inside, 0, memory_order_relaxed);
}

/*
 * Records the events that waited for the end of the abandoned call. The events are complete, but
 * their stacks are unknown.
 */
static void record_waiting(struct gmt_thread_state *thread)
{
	int kept_errno = errno;
	unsigned count = thread->waiting_count;

	thread->waiting_count = 0;
	if (!count || !gmt_event_enter(thread))
		return;
	if (gmt_session_ensure_depot())
		for (unsigned i = 0; i < count; i++)
			gmt_thread_ring_push(&thread->waiting[i]);
	gmt_event_leave(thread);
	errno = kept_errno;
}

void gmt_outer_call_abandon(struct gmt_thread_state *thread)
{
	bool is_whole = !thread->in_recorder && thread->closed != GMT_CLOSED_CHANGE;

	if (thread->in_recorder)
		reset_caches(thread);
	/* The driver's actions in the abandoned call are unknown. They count as one lost event. */
	if (thread->outer_kind || !is_whole)
		gmt_count_loss(GMT_LOSS_ABANDONED_CALL);
	thread->in_recorder = thread->closed = 0;
	thread->reentrant_depth = 0;
	thread->depth = 0;
	thread->has_seen_event = thread->is_oom = false;
	if (is_whole)
		record_waiting(thread);
	thread->waiting_count = 0;
}

bool gmt_event_enter_slow(struct gmt_thread_state *thread)
{
	if (thread->is_recorder_thread)
		return false;
	if (thread->in_recorder == GMT_IN_RECORDER_FORKED) {
		thread->in_recorder = 0;
		/*
		 * The interrupted call ends: its events are the parent's. Any other event belongs to this
		 * process.
		 */
		if (thread->closed)
			return false;
		thread->waiting_count = 0;
		return true;
	}
	if (gmt_outer_call_check(thread, 0, NULL) == GMT_OUTER_CALL_ABANDONED) {
		gmt_outer_call_abandon(thread);
		return true;
	}
	gmt_count_loss(GMT_LOSS_REENTERED);
	return false;
}

void gmt_outer_call_end_process(void)
{
	const struct gmt_thread_state *thread = &gmt_this_thread;

	if (!thread->is_recorder_thread && !(thread->in_recorder & GMT_IN_RECORDER_FORKED) &&
		((thread->depth && thread->outer_kind) || thread->in_recorder ||
			thread->closed == GMT_CLOSED_CHANGE))
		gmt_count_loss(GMT_LOSS_ABANDONED_CALL);
}

/* If the thread is still in a call, the call was abandoned, for example by pthread_cancel. */
static void at_thread_end(void)
{
	if (gmt_this_thread.depth)
		gmt_outer_call_abandon(&gmt_this_thread);
}

GMT_AT_STAGE(thread_end, THREAD, at_thread_end);
