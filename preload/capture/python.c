/* SPDX-License-Identifier: MIT */
#include "capture/python.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "cancelling.h"
#include "capture/python_cache.h"
#include "capture/python_code.h"
#include "capture/python_deaths.h"
#include "capture/python_layout.h"
#include "capture/python_proof.h"
#include "capture/python_selftest.h"
#include "capture/python_trace.h"

enum {
	NEAR_FRAMES = 16, /* of the last stack that are looked at for one of the new */
	GATES = 32,
	END_WAIT_NS = 1000000000,
	BOUND_SINCE_MINOR = 12, /* from 3.12 a thread's state is that of the interpreter that runs on it */
};

/* Who reads frames now. Several, so that threads do not wait for each other's cache line. */
static struct {
	_Alignas(64) _Atomic uint32_t inside;
} gates[GATES];

static _Atomic(char *) ender; /* the thread on which Python ends */

/* Written by gmt_python_init before `state` says so, and never again. */
static struct {
	_Atomic int state; /* enum gmt_python_state */
	_Atomic uint32_t epoch; /* of ids: another depot, another epoch */
	atomic_flag proving;
	struct gmt_python_layout layout;
	struct gmt_python_cache *cache;
	gmt_python_find *find;
	char *(*this_thread)(void);    /* PyGILState_GetThisThreadState: needs no GIL; NULL: no Python here */
	char *(*running_thread)(void); /* the one that holds the GIL (or, from 3.12, this one if it does) */
	int (*is_finalizing)(void);
	void *(*newest_interpreter)(void); /* before 3.12, else NULL */
	void *(*main_interpreter)(void);
	char version[32];
	char why[160];
} python = { .epoch = 1, .proving = ATOMIC_FLAG_INIT };

static enum gmt_python_state state_now(void)
{
	/* Pairs with the release in set_state: all else in `python` is written by then. */
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
	snprintf(python.why, sizeof(python.why), "Python %s: %s; no Python stacks", python.version, reason);
	return set_state(GMT_PYTHON_REFUSED);
}

/*
 * Compares our reading with the interpreter's, if this thread holds the GIL now. We do not ask
 * PyGILState_Check: it says yes to everybody once there was a second interpreter.
 */
static enum gmt_python_state prove(enum gmt_python_state otherwise)
{
	char *thread = python.this_thread();
	enum gmt_python_state state = otherwise;

	if (!thread || python.running_thread() != thread || python.is_finalizing())
		return state;
	/* Another thread is at it. Pairs with the clear below: its verdict is seen. */
	if (atomic_flag_test_and_set_explicit(&python.proving, memory_order_acquire))
		return state;
	if (state_now() == GMT_PYTHON_REFUSED || state_now() == GMT_PYTHON_ON) {
		state = state_now();
	} else {
		const char *what = NULL;
		char reason[100];

		switch (gmt_python_prove(&python.layout, python.find, thread, &what)) {
		case GMT_PYTHON_PROVEN:
			state = set_state(GMT_PYTHON_ON);
			break;
		case GMT_PYTHON_DISPROVEN:
			snprintf(reason, sizeof(reason), "its own answer and ours differ in %s", what);
			state = refuse(reason);
			break;
		case GMT_PYTHON_UNPROVEN:
			break;
		}
	}
	atomic_flag_clear_explicit(&python.proving, memory_order_release);
	return state;
}

/* The first of two names, by version. */
static void *find_either(gmt_python_find *find, const char *name, const char *other)
{
	void *function = find(name);

	return function ? function : find(other);
}

static enum gmt_python_state look(gmt_python_find *find)
{
	const char *(*get_version)(void) = find("Py_GetVersion");
	int (*is_initialized)(void) = find("Py_IsInitialized");

	if (!get_version || !is_initialized || !is_initialized())
		return GMT_PYTHON_ABSENT;
	/* "3.11.7 (main, ...": up to the space. */
	snprintf(python.version, sizeof(python.version), "%.*s", (int)strcspn(get_version(), " "), get_version());

	if (!gmt_python_layout_find(python.version, find, &python.layout, python.why, sizeof(python.why)))
		return set_state(GMT_PYTHON_REFUSED);
	python.find = find;
	python.this_thread = find("PyGILState_GetThisThreadState");
	python.running_thread = find_either(find, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
	python.is_finalizing = find_either(find, "Py_IsFinalizing", "_Py_IsFinalizing");
	if (!python.this_thread || !python.running_thread || !python.is_finalizing)
		return refuse("it does not show the functions we need");
	if (python.layout.minor < BOUND_SINCE_MINOR) {
		python.newest_interpreter = find("PyInterpreterState_Head");
		python.main_interpreter = find("PyInterpreterState_Main");
		if (!python.newest_interpreter || !python.main_interpreter)
			return refuse("it does not show the functions we need");
	}
	python.cache = gmt_python_cache_open();
	if (!python.cache)
		return refuse("no memory");
	if (python.layout.code.stamp == GMT_PYTHON_NONE)
		gmt_python_deaths_watch(find);

	enum gmt_python_state state = prove(python.layout.must_be_proven ? GMT_PYTHON_PENDING : GMT_PYTHON_ON);

	return state == GMT_PYTHON_REFUSED ? state : set_state(state);
}

enum gmt_python_state gmt_python_init(void *(*find)(const char *name), char *ret_why, uint32_t why_bytes)
{
	enum gmt_python_state state = state_now();

	if (state == GMT_PYTHON_ABSENT)
		state = look(find);
	else if (state == GMT_PYTHON_PENDING)
		state = prove(state);
	if (state == GMT_PYTHON_REFUSED && ret_why && why_bytes)
		snprintf(ret_why, why_bytes, "%s", python.why);
	return state;
}

/* What tells a code object from another at the same address; the second form costs more and holds for longer. */
static uint64_t quick_fingerprint(const char *code, uint64_t deaths)
{
	return deaths ? deaths : gmt_python_code_fingerprint(&python.layout, code);
}

static uint32_t frame_id(struct gmt_depot *depot, const struct gmt_python_place *place, uint64_t fingerprint, uint64_t deaths)
{
	struct gmt_python_key key = {
		.code = (uintptr_t)place->code, .instr = (uint64_t)place->instr, .fingerprint = fingerprint,
	};
	struct gmt_python_key lasting = key;
	uint32_t id = gmt_python_cache_find(python.cache, &key);

	if (id)
		return id;
	if (deaths) {
		lasting.fingerprint = gmt_python_code_fingerprint(&python.layout, place->code);
		id = gmt_python_cache_find(python.cache, &lasting);
	}
	if (!id) {
		id = gmt_python_code_intern(&python.layout, depot, place);
		if (id)
			gmt_python_cache_add(python.cache, &lasting, id);
	}
	if (id && deaths)
		gmt_python_cache_add(python.cache, &key, id);
	return id;
}

/* The place of `frame` among those of the last stack, from *at on; *at moves there. NULL when it was not near. */
static const struct gmt_python_trace_place *find_place(const struct gmt_python_trace_stack *last, uint32_t *at,
	const char *frame)
{
	for (uint32_t i = *at; i < last->count && i < *at + NEAR_FRAMES; i++)
		if (last->places[i].frame == frame) {
			*at = i;
			return &last->places[i];
		}
	return NULL;
}

static bool is_same_place(const struct gmt_python_trace_place *a, const struct gmt_python_trace_place *b)
{
	return a->code == b->code && a->instr == b->instr && a->fingerprint == b->fingerprint;
}

/* Takes what is left from `*frame` on into `now`, of which some is there. False when the depot is full. */
static bool walk_on(const char **frame, struct gmt_depot *depot, uint32_t depth, uint64_t deaths,
	const struct gmt_python_trace_stack *last, struct gmt_python_trace_stack *now)
{
	struct gmt_python_place place;
	uint32_t at = now->count;

	while (now->count < depth && gmt_python_walk_next(&python.layout, frame, &place)) {
		struct gmt_python_trace_place *mine = &now->places[now->count];
		const struct gmt_python_trace_place *theirs = find_place(last, &at, place.frame);
		uint32_t id = 0;

		*mine = (struct gmt_python_trace_place){ place.frame, place.code, place.instr, quick_fingerprint(place.code, deaths) };
		if (theirs) {
			id = is_same_place(theirs, mine) ? last->stack.items[at] / 2 : 0;
			at++;
		}
		if (!id)
			id = frame_id(depot, &place, mine->fingerprint, deaths);
		if (!id)
			return false;
		now->stack.items[now->count++] = id * 2 + place.entry;
	}
	return true;
}

/* How many frames are, one by one, those of the last stack; *frame and *ret_next stand before the first that is not. */
static uint32_t walk_same(const char **frame, uint32_t depth, uint64_t deaths, const struct gmt_python_trace_stack *last)
{
	uint32_t count = 0;

	while (count < last->count && count < depth) {
		const struct gmt_python_trace_place *theirs = &last->places[count];
		const char *next = *frame;
		struct gmt_python_place place;

		if (!gmt_python_walk_next(&python.layout, &next, &place) || place.frame != theirs->frame ||
			place.code != theirs->code || place.instr != theirs->instr ||
			place.entry != (last->stack.items[count] & 1) ||
			quick_fingerprint(place.code, deaths) != theirs->fingerprint)
			break;
		*frame = next;
		count++;
	}
	return count;
}

static uint32_t capture_thread(const char *thread, struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace,
	bool *ret_lost)
{
	struct gmt_python_trace_stack *last = &trace->stacks[trace->last], *now = &trace->stacks[1 - trace->last];
	const char *frame = gmt_python_walk_start(&python.layout, thread), *rest;
	uint32_t epoch = atomic_load_explicit(&python.epoch, memory_order_relaxed);
	uint64_t deaths = gmt_python_deaths();
	struct gmt_python_place place;

	if (trace->epoch != epoch)
		last->count = last->id = 0;
	trace->epoch = epoch;
	if (depth > GMT_PYTHON_TRACE_FRAMES)
		depth = GMT_PYTHON_TRACE_FRAMES;
	now->count = walk_same(&frame, depth, deaths, last);
	rest = frame;

	bool is_more = gmt_python_walk_next(&python.layout, &rest, &place);

	if (last->id && now->count == last->count && is_more == last->stack.truncated && (!is_more || now->count == depth))
		return last->id;
	memcpy(now->places, last->places, now->count * sizeof(*now->places));
	memcpy(now->stack.items, last->stack.items, now->count * sizeof(*now->stack.items));
	if (!walk_on(&frame, depot, depth, deaths, last, now)) {
		last->count = last->id = 0;
		*ret_lost = true;
		return 0;
	}
	if (!now->count)
		return 0;
	now->stack.truncated = now->count == depth && gmt_python_walk_next(&python.layout, &frame, &place);
	now->id = gmt_depot_intern(depot, GMT_DEPOT_FRAMES, &now->stack,
		(uint32_t)(offsetof(struct gmt_depot_frames, items) + now->count * sizeof(now->stack.items[0])));
	trace->last = 1 - trace->last;
	if (!now->id)
		*ret_lost = true;
	return now->id;
}

/*
 * A finalizing interpreter frees the states of threads that still run (daemon threads): theirs must not
 * be touched. It says so before it frees, but a thread may have been interrupted between the two; so
 * where we are told in time, others stop before.
 */
static bool may_read_frames_of(const char *thread)
{
	const char *ending = atomic_load(&ender);

	return (!ending || ending == thread) && !python.is_finalizing();
}

/*
 * Until 3.11 the state that a thread is known by stays the first interpreter's while it runs another one, whose own
 * can be told from it only while this thread holds the GIL.
 */
static bool is_unclear(const char *thread)
{
	return python.newest_interpreter && python.newest_interpreter() != python.main_interpreter() &&
		python.running_thread() != thread;
}

bool gmt_python_is_unclear(void)
{
	const char *thread = state_now() == GMT_PYTHON_ON ? python.this_thread() : NULL;

	return thread && may_read_frames_of(thread) && is_unclear(thread);
}

uint32_t gmt_python_capture(struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace, bool *ret_lost)
{
	enum gmt_python_state state = state_now();

	if (state == GMT_PYTHON_PENDING) {
		int cancelling = gmt_cancelling_hold();

		state = prove(state);
		gmt_cancelling_release(cancelling);
	}
	if (state != GMT_PYTHON_ON)
		return 0;

	char *thread = python.this_thread();

	/* Once it ends, without a look at the gate: it is to become empty. */
	if (!thread || !may_read_frames_of(thread) || is_unclear(thread))
		return 0;

	/* A state is some hundred bytes. */
	_Atomic uint32_t *inside = &gates[(uintptr_t)thread / 512 % GATES].inside;

	/* Sequentially consistent, as both steps of gmt_python_end: either it sees us inside, or we see that it was called. */
	atomic_fetch_add(inside, 1);
	uint32_t id = may_read_frames_of(thread) ? capture_thread(thread, depot, depth, trace, ret_lost) : 0;
	if (gmt_python_selftest_every && id && ++trace->taken >= gmt_python_selftest_every) {
		trace->taken = 0;
		gmt_python_selftest_compare(&python.layout, thread, depot,
			depth < GMT_PYTHON_TRACE_FRAMES ? depth : GMT_PYTHON_TRACE_FRAMES, id);
	}
	/* Pairs with the load in gmt_python_end. */
	atomic_fetch_sub_explicit(inside, 1, memory_order_release);
	return id;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void gmt_python_end(void)
{
	if (state_now() == GMT_PYTHON_ABSENT || !python.this_thread)
		return;
	atomic_store(&ender, python.this_thread());

	uint64_t deadline_ns = monotonic_ns() + END_WAIT_NS;

	/* A gate that is seen empty stays so: whoever comes to it later turns round. */
	for (int i = 0; i < GATES; i++)
		while (atomic_load(&gates[i].inside) && monotonic_ns() < deadline_ns)
			sched_yield();
}

void gmt_python_reset(void)
{
	if (python.cache)
		gmt_python_cache_clear(python.cache);
	atomic_fetch_add(&python.epoch, 1);
	/* Who was inside or held it is not there any more. */
	for (int i = 0; i < GATES; i++)
		atomic_store(&gates[i].inside, 0);
	atomic_store(&ender, NULL);
	atomic_flag_clear(&python.proving);
}

const char *gmt_python_version(void)
{
	return python.version;
}
