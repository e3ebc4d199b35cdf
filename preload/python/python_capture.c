/* SPDX-License-Identifier: MIT */
#include "python/python_capture.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/cancellation.h"
#include "python/python_cache.h"
#include "python/python_code.h"
#include "python/python_code_frees.h"
#include "python/python_guard.h"
#include "python/python_layout.h"
#include "python/python_outer_end.h"
#include "python/python_layout_check.h"
#include "python/python_unchanged_frames.h"
#include "python/python_selftest.h"
#include "python/python_trace.h"
#include "format/format.h"
#include "runtime/stages.h"

/* From 3.12 on, this_thread() returns the thread's state in the interpreter that it runs. */
enum { STATE_IS_BOUND_SINCE_MINOR = 12 };

/* Long enough for a thread in the middle of a capture, even on a busy machine. */
#define END_WAIT_NS UINT64_C(10000000000)

static _Atomic(char *) ending_thread; /* the thread on which Python ends */

/* gmt_python_init writes these before it sets `state`. They never change afterwards. */
static struct {
	_Atomic int state; /* enum gmt_python_state */
	_Atomic uint32_t epoch; /* epoch of the ids: a new depot begins a new epoch */
	atomic_flag is_checking;
	struct gmt_python_layout layout;
	struct gmt_python_cache *cache;
	gmt_python_find *find;
	/* PyGILState_GetThisThreadState: needs no GIL; NULL: no Python on this thread */
	char *(*this_thread)(void);
	/* The thread that holds the GIL (from 3.12 on: this thread, if it holds it) */
	char *(*running_thread)(void);
	int (*is_finalizing)(void);
	void *(*newest_interpreter)(void); /* before 3.12; else NULL */
	void *(*main_interpreter)(void);
	char version[32];
	char why[160];
} python = { .epoch = 1, .is_checking = ATOMIC_FLAG_INIT };

static enum gmt_python_state state_now(void)
{
	/* Pairs with the release in set_state: everything else in `python` is written by then. */
	return (enum gmt_python_state)atomic_load_explicit(&python.state, memory_order_acquire);
}

static enum gmt_python_state set_state(enum gmt_python_state state)
{
	/* Pairs with the acquire in state_now. */
	atomic_store_explicit(&python.state, state, memory_order_release);
	return state;
}

static enum gmt_python_state refuse(const char *reason)
{
	snprintf(python.why, sizeof(python.why), "Python %s: %s; no Python stacks", python.version,
		reason);
	return set_state(GMT_PYTHON_REFUSED);
}

/*
 * Compares the recorder's reading with the interpreter's, if this thread holds the GIL now. Does
 * not use PyGILState_Check, which returns 1 in every thread once a second interpreter has existed.
 * Returns `otherwise` if it could not compare.
 */
static enum gmt_python_state check_layout(enum gmt_python_state otherwise)
{
	char *thread = python.this_thread();
	enum gmt_python_state state = otherwise;

	if (!thread || python.running_thread() != thread || python.is_finalizing())
		return state;
	/*
	 * If another thread compares, does not wait. Pairs with the clear: later threads see the
	 * result.
	 */
	if (atomic_flag_test_and_set_explicit(&python.is_checking, memory_order_acquire))
		return state;
	if (state_now() == GMT_PYTHON_REFUSED || state_now() == GMT_PYTHON_ON) {
		state = state_now();
	} else {
		const char *what = NULL;
		char reason[100];

		switch (gmt_python_layout_check(&python.layout, python.find, thread, &what)) {
		case GMT_PYTHON_LAYOUT_RIGHT:
			state = set_state(GMT_PYTHON_ON);
			break;
		case GMT_PYTHON_LAYOUT_WRONG:
			snprintf(reason, sizeof(reason), "the interpreter and the recorder disagree on %s",
				what);
			state = refuse(reason);
			break;
		case GMT_PYTHON_LAYOUT_UNCHECKED:
			break;
		}
	}
	atomic_flag_clear_explicit(&python.is_checking, memory_order_release);
	return state;
}

/* Finds a function under either of its two names, which depend on the version. */
static void *find_either(gmt_python_find *find, const char *name, const char *other)
{
	void *function = find(name);

	return function ? function : find(other);
}

static enum gmt_python_state find_interpreter(gmt_python_find *find)
{
	const char *(*get_version)(void) = find("Py_GetVersion");
	int (*is_initialized)(void) = find("Py_IsInitialized");

	if (!get_version || !is_initialized || !is_initialized())
		return GMT_PYTHON_ABSENT;
	/* The text is "3.11.7 (main, ..."; keep the part before the space. */
	snprintf(python.version, sizeof(python.version), "%.*s", (int)strcspn(get_version(), " "),
		get_version());

	if (!gmt_python_layout_find(python.version, find, &python.layout, python.why,
			sizeof(python.why)))
		return set_state(GMT_PYTHON_REFUSED);
	python.find = find;
	python.this_thread = find("PyGILState_GetThisThreadState");
	python.running_thread =
		find_either(find, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
	python.is_finalizing = find_either(find, "Py_IsFinalizing", "_Py_IsFinalizing");
	if (!python.this_thread || !python.running_thread || !python.is_finalizing)
		return refuse("it does not export the functions that the recorder needs");
	if (python.layout.minor < STATE_IS_BOUND_SINCE_MINOR) {
		python.newest_interpreter = find("PyInterpreterState_Head");
		python.main_interpreter = find("PyInterpreterState_Main");
		if (!python.newest_interpreter || !python.main_interpreter)
			return refuse("it does not export the functions that the recorder needs");
	}
	python.cache = gmt_python_cache_create();
	if (!python.cache)
		return refuse("no memory");
	if (python.layout.code.version == GMT_PYTHON_NONE && gmt_python_watches_code)
		gmt_python_code_frees_watch(find);
	gmt_python_guard_init();

	enum gmt_python_state state =
		check_layout(python.layout.must_be_checked ? GMT_PYTHON_PENDING : GMT_PYTHON_ON);

	return state == GMT_PYTHON_REFUSED ? state : set_state(state);
}

enum gmt_python_state gmt_python_init(void *(*find)(const char *name), char *ret_why,
	uint32_t why_bytes)
{
	enum gmt_python_state state = state_now();

	if (state == GMT_PYTHON_ABSENT)
		state = find_interpreter(find);
	else if (state == GMT_PYTHON_PENDING)
		state = check_layout(state);
	if (state == GMT_PYTHON_REFUSED && ret_why && why_bytes)
		snprintf(ret_why, why_bytes, "%s", python.why);
	return state;
}

/* Appends the frames from `*frame` on to `now`. Returns false if the depot is full. */
static bool take_remaining_frames(const char **frame, struct gmt_depot *depot, uint32_t depth,
	uint64_t code_frees, const struct gmt_python_trace_stack *last,
	struct gmt_python_trace_stack *now)
{
	struct gmt_python_walked_frame walked;
	uint32_t at = now->count;

	while (now->count < depth) {
		const struct gmt_python_trace_frame *remembered =
			gmt_python_find_frame(&python.layout, last, &at, *frame);
		uint32_t unchanged = 0, id = 0;

		if (remembered && gmt_python_may_be_unchanged(&python.layout, remembered))
			unchanged = gmt_python_take_unchanged(&python.layout, last, at, depth - now->count,
				code_frees, frame);
		if (unchanged) {
			memcpy(&now->frames[now->count], &last->frames[at], unchanged * sizeof(*now->frames));
			memcpy(&now->stack.items[now->count], &last->stack.items[at],
				unchanged * sizeof(*now->stack.items));
			now->count += unchanged;
			at += unchanged;
			continue;
		}
		if (!gmt_python_walk_next(&python.layout, frame, &walked))
			break;

		struct gmt_python_trace_frame *current = &now->frames[now->count];

		*current = gmt_python_remember_frame(&python.layout, &walked,
			gmt_python_quick_fingerprint(&python.layout, walked.code, code_frees));
		if (!remembered || remembered->frame != walked.frame)
			remembered = gmt_python_find_frame(&python.layout, last, &at, walked.frame);
		if (remembered) {
			id = gmt_python_is_same_frame(remembered, current) ? last->stack.items[at] / 2 : 0;
			at++;
		}
		if (!id)
			id = gmt_python_code_id(&python.layout, python.cache, depot, &walked,
				current->fingerprint, code_frees);
		if (!id)
			return false;
		now->stack.items[now->count++] = id * 2 + walked.is_entry;
	}
	return true;
}

/*
 * Counts the frames that equal those of the last stack; the first `count` are already found. Moves
 * *frame to the first frame that differs.
 */
static uint32_t walk_unchanged(const char **frame, uint32_t count, uint32_t depth,
	uint64_t code_frees, const struct gmt_python_trace_stack *last)
{
	while (count < last->count && count < depth) {
		const struct gmt_python_trace_frame *remembered = &last->frames[count];
		const char *next = *frame;
		struct gmt_python_walked_frame walked;

		/* Mostly the instruction differs, and this check does not read the code object. */
		if (remembered->frame != next || !gmt_python_may_be_unchanged(&python.layout, remembered) ||
			!gmt_python_walk_next(&python.layout, &next, &walked) ||
			remembered->frame != walked.frame || walked.is_entry != (last->stack.items[count] & 1))
			break;

		struct gmt_python_trace_frame now = gmt_python_remember_frame(&python.layout, &walked,
			gmt_python_quick_fingerprint(&python.layout, walked.code, code_frees));

		if (!gmt_python_is_same_frame(&now, remembered))
			break;
		*frame = next;
		count++;
		count += gmt_python_take_unchanged(&python.layout, last, count, depth - count, code_frees,
			frame);
	}
	return count;
}

/*
 * Takes the outer end of a stack with more frames than the `depth` frames of `inner` into
 * trace->outer. If the outer end is too far away, trace->outer stays empty. *ret_is_same says
 * whether the outer end is unchanged. Returns false if the depot is full.
 */
__attribute__((noinline)) static bool take_outer(struct gmt_depot *depot, uint32_t depth,
	uint64_t code_frees, const struct gmt_python_trace_stack *inner, struct gmt_python_trace *trace,
	bool *ret_is_same)
{
	struct gmt_python_trace_stack *outer = &trace->outer;
	uint32_t count = depth / GMT_OUTER_END_DIVISOR, before = outer->count, unchanged;
	const char *frame = count ? gmt_python_outer_end_find(&python.layout,
									inner->frames[depth - count - 1].frame, count, trace->pointers)
							  : NULL;
	struct gmt_python_walked_frame walked;

	unchanged = frame
		? walk_unchanged(&frame,
			  gmt_python_take_unchanged(&python.layout, outer, 0, count, code_frees, &frame), count,
			  code_frees, outer)
		: 0;
	outer->count = unchanged;
	while (outer->count < count && gmt_python_walk_next(&python.layout, &frame, &walked)) {
		uint64_t fingerprint =
			gmt_python_quick_fingerprint(&python.layout, walked.code, code_frees);
		uint32_t id = gmt_python_code_id(&python.layout, python.cache, depot, &walked, fingerprint,
			code_frees);

		if (!id)
			return false;
		outer->frames[outer->count] =
			gmt_python_remember_frame(&python.layout, &walked, fingerprint);
		outer->stack.items[outer->count++] = id * 2 + walked.is_entry;
	}
	*ret_is_same = unchanged == before && outer->count == before;
	return true;
}

/* Stores a stack whose outer end replaces some inner frames. A 0 marks the gap. */
static uint32_t intern_both_ends(struct gmt_depot *depot,
	const struct gmt_python_trace_stack *inner, struct gmt_python_trace *trace)
{
	const struct gmt_python_trace_stack *outer = &trace->outer;
	uint32_t kept = inner->count - outer->count - 1;

	trace->both.truncated = GMT_STACK_WHOLE;
	memcpy(trace->both.items, inner->stack.items, kept * sizeof(*trace->both.items));
	trace->both.items[kept] = 0;
	memcpy(trace->both.items + kept + 1, outer->stack.items,
		outer->count * sizeof(*trace->both.items));
	return gmt_depot_intern(depot, GMT_DEPOT_FRAMES, &trace->both,
		(uint32_t)(offsetof(struct gmt_depot_frames, items) +
			inner->count * sizeof(*trace->both.items)));
}

/* Forgets the thread's last stack, because the depot is full. */
static uint32_t forget_stack(struct gmt_python_trace *trace, bool *ret_lost)
{
	struct gmt_python_trace_stack *last = &trace->stacks[trace->last];

	last->count = last->id = 0;
	*ret_lost = true;
	return 0;
}

/*
 * Returns the id of a stack whose inner frames are taken. stack->id is the id of the last stack
 * with these inner frames, or 0.
 */
static uint32_t find_id(struct gmt_depot *depot, uint32_t depth, uint64_t code_frees,
	struct gmt_python_trace_stack *stack, struct gmt_python_trace *trace, bool *ret_lost)
{
	bool has_same_end = false;

	if (stack->stack.truncated &&
		!take_outer(depot, depth, code_frees, stack, trace, &has_same_end))
		return forget_stack(trace, ret_lost);
	if (stack->id && has_same_end)
		return stack->id;
	stack->id = stack->stack.truncated && trace->outer.count
		? intern_both_ends(depot, stack, trace)
		: gmt_depot_intern(depot, GMT_DEPOT_FRAMES, &stack->stack,
			  (uint32_t)(offsetof(struct gmt_depot_frames, items) +
				  stack->count * sizeof(stack->stack.items[0])));
	*ret_lost |= !stack->id;
	return stack->id;
}

/*
 * Captures a stack that differs from the last one. The first `count` frames are equal; `frame` is
 * the next frame.
 */
__attribute__((noinline)) static uint32_t capture_changed(const char *frame, uint32_t count,
	struct gmt_depot *depot, uint32_t depth, uint64_t code_frees, struct gmt_python_trace *trace,
	bool *ret_lost)
{
	struct gmt_python_trace_stack *last = &trace->stacks[trace->last],
								  *now = &trace->stacks[1 - trace->last];
	const char *rest;
	struct gmt_python_walked_frame walked;

	count = walk_unchanged(&frame, count, depth, code_frees, last);
	rest = frame;
	if (last->id && count == last->count) {
		bool is_more = gmt_python_walk_next(&python.layout, &rest, &walked);

		if (is_more == last->stack.truncated && (!is_more || count == depth))
			return is_more ? find_id(depot, depth, code_frees, last, trace, ret_lost) : last->id;
	}
	now->count = count;
	if (count) {
		memcpy(now->frames, last->frames, count * sizeof(*now->frames));
		memcpy(now->stack.items, last->stack.items, count * sizeof(*now->stack.items));
	}
	if (!take_remaining_frames(&frame, depot, depth, code_frees, last, now))
		return forget_stack(trace, ret_lost);
	if (!now->count)
		return 0;
	now->stack.truncated =
		now->count == depth && gmt_python_walk_next(&python.layout, &frame, &walked);
	now->id = 0;
	trace->last = 1 - trace->last;
	return find_id(depot, depth, code_frees, now, trace, ret_lost);
}

static inline uint32_t capture_thread(const char *thread, struct gmt_depot *depot, uint32_t depth,
	struct gmt_python_trace *trace, bool *ret_lost)
{
	struct gmt_python_trace_stack *last = &trace->stacks[trace->last];
	const char *frame = gmt_python_walk_start(&python.layout, thread);
	uint32_t epoch = atomic_load_explicit(&python.epoch, memory_order_relaxed), count;
	uint64_t code_frees = gmt_python_code_frees();

	/* The thread has a state only to take the GIL, like the threads of autograd. */
	if (!frame)
		return 0;
	if (__builtin_expect(trace->epoch != epoch, 0)) {
		last->count = last->id = trace->outer.count = 0;
		trace->epoch = epoch;
	}
	if (depth > GMT_PYTHON_TRACE_FRAMES)
		depth = GMT_PYTHON_TRACE_FRAMES;
	count = gmt_python_take_unchanged(&python.layout, last, 0, depth, code_frees, &frame);
	/* The stack equals the last stack. */
	if (last->id && count == last->count && !frame && !last->stack.truncated)
		return last->id;
	return capture_changed(frame, count, depot, depth, code_frees, trace, ret_lost);
}

/*
 * Returns whether Python has begun to end on another thread. A finalizing interpreter frees the
 * states of threads that still run (daemon threads), so the recorder must not touch them. The
 * interpreter sets its finalizing flag before it frees them, but a thread may be interrupted
 * between its check and its reads. So gmt_python_end, where it is called in time, stops the other
 * threads earlier.
 */
static inline bool has_begun_to_end_elsewhere(const char *thread)
{
	const char *ending = atomic_load(&ending_thread);

	return ending && ending != thread;
}

/*
 * Returns whether the thread may be running another interpreter. Until 3.11, this_thread() returns
 * the thread's state in the first interpreter. running_thread() returns the present state, but only
 * while this thread holds the GIL.
 */
static inline bool may_be_other_interpreter(const char *thread)
{
	return python.newest_interpreter && python.newest_interpreter() != python.main_interpreter() &&
		python.running_thread() != thread;
}

__attribute__((noinline)) static bool is_on_by_now(void)
{
	enum gmt_python_state state = state_now();

	if (state == GMT_PYTHON_PENDING) {
		int cancellation = gmt_cancellation_disable();

		state = check_layout(state);
		gmt_cancellation_restore(cancellation);
	}
	return state == GMT_PYTHON_ON;
}

__attribute__((noinline)) static void selftest(const char *thread, struct gmt_depot *depot,
	uint32_t depth, struct gmt_python_trace *trace, uint32_t id)
{
	if (!id || ++trace->captures_since_selftest < gmt_python_selftest_every)
		return;
	trace->captures_since_selftest = 0;
	gmt_python_selftest_compare(&python.layout, thread, depot,
		depth < GMT_PYTHON_TRACE_FRAMES ? depth : GMT_PYTHON_TRACE_FRAMES, id);
}

uint32_t gmt_python_capture(struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace,
	bool *ret_lost)
{
	uint32_t id = 0;

	trace->may_be_other_interpreter = false;
	if (__builtin_expect(state_now() != GMT_PYTHON_ON, 0) && !is_on_by_now())
		return 0;

	char *thread = python.this_thread();

	/* After Python has begun to end, no thread enters its guard, so that all become empty. */
	if (!thread || has_begun_to_end_elsewhere(thread))
		return 0;
	if (__builtin_expect(may_be_other_interpreter(thread), 0)) {
		trace->may_be_other_interpreter = !python.is_finalizing();
		return 0;
	}
	/* Either gmt_python_end sees this thread in its guard, or this thread sees `ending_thread`. */
	gmt_python_guard_enter(&trace->guard);
	if (__builtin_expect(!has_begun_to_end_elsewhere(thread) && !python.is_finalizing(), 1)) {
		id = capture_thread(thread, depot, depth, trace, ret_lost);
		if (__builtin_expect(gmt_python_selftest_every, 0))
			selftest(thread, depot, depth, trace, id);
	}
	gmt_python_guard_leave(&trace->guard);
	return id;
}

void gmt_python_end(void)
{
	if (state_now() == GMT_PYTHON_ABSENT || !python.this_thread)
		return;
	atomic_store(&ending_thread, python.this_thread());
	gmt_python_guard_wait(END_WAIT_NS);
}

void gmt_python_reset(void)
{
	if (python.cache)
		gmt_python_cache_clear(python.cache);
	atomic_fetch_add(&python.epoch, 1);
	/* The threads that were inside, or that held `is_checking`, do not exist any more. */
	gmt_python_guard_reset();
	atomic_store(&ending_thread, NULL);
	atomic_flag_clear(&python.is_checking);
}

const char *gmt_python_version(void)
{
	return python.version;
}

GMT_AT_STAGE(after_fork, PYTHON, gmt_python_reset);
