/* SPDX-License-Identifier: MIT */
#include "model/backward.h"

#include <string.h>

#include "model/landmarks.h"

enum thread_kind { UNKNOWN_THREAD, ORDINARY_THREAD, AUTOGRAD_THREAD };

struct thread_state {
	enum thread_kind kind;
	uint32_t call; /* frames id of its backward call; 0: it is not in one */
};

enum stack_kind { UNKNOWN_STACK, ORDINARY_STACK, CALL_STACK };

struct adopter {
	struct gmt_snapshot *snapshot;
	struct gmt_map thread_ids; /* thread id to index in threads */
	GMT_VEC(struct thread_state) threads;
	GMT_VEC(uint8_t) stack_kinds; /* enum stack_kind, by index of snapshot->frames */
	struct gmt_map trace_ids;  /* trace and caller to the trace that has both */
	uint32_t callers;          /* threads that are in a backward call */
	uint64_t caller_sum;       /* of their indices: of one caller, its own */
};

static bool is_autograd(const struct gmt_snapshot *snapshot, uint32_t thread)
{
	static const char name[] = "pt_autograd";
	const struct gmt_thread *row = gmt_snapshot_thread(snapshot, thread);

	return row && row->name.length >= sizeof(name) - 1 &&
		memcmp(row->name.text, name, sizeof(name) - 1) == 0;
}

static struct thread_state *state_of(struct adopter *adopter, uint32_t thread)
{
	uint64_t index;

	if (!gmt_map_find(&adopter->thread_ids, thread, &index)) {
		struct thread_state *state = gmt_vec_push(&adopter->threads);

		index = adopter->threads.count - 1;
		if (!state || !gmt_map_put(&adopter->thread_ids, thread, index))
			return NULL;
		*state = (struct thread_state){
			.kind = is_autograd(adopter->snapshot, thread) ? AUTOGRAD_THREAD : ORDINARY_THREAD,
		};
	}
	return &adopter->threads.items[index];
}

static bool is_call(const struct gmt_snapshot *snapshot, const struct gmt_frames *frames)
{
	for (uint32_t i = 0; i < frames->items.count; i++) {
		const struct gmt_frame *frame =
			gmt_snapshot_frame(snapshot, (uint32_t)(frames->items.items[i] >> 1));
		const struct gmt_code *code = frame ? gmt_snapshot_code(snapshot, frame->code) : NULL;

		if (code && gmt_landmarks(true, code->file.text, code->function.text) &
			GMT_LANDMARK_BIT(BACKWARD_CALL))
			return true;
	}
	return false;
}

/* Whether a Python stack lies in a backward call; each is looked at once. */
static bool lies_in_call(struct adopter *adopter, uint32_t frames_id)
{
	const struct gmt_snapshot *snapshot = adopter->snapshot;
	const struct gmt_frames *frames = gmt_snapshot_frames(snapshot, frames_id);

	if (!frames)
		return false;

	uint8_t *kind = &adopter->stack_kinds.items[frames - snapshot->frames.items];
	if (*kind == UNKNOWN_STACK)
		*kind = is_call(snapshot, frames) ? CALL_STACK : ORDINARY_STACK;
	return *kind == CALL_STACK;
}

static void note_call(struct adopter *adopter, struct thread_state *state, uint32_t frames)
{
	bool was_in = state->call;

	state->call = lies_in_call(adopter, frames) ? frames : 0;
	if (was_in == (state->call != 0))
		return;
	adopter->callers += state->call ? 1 : -1;
	adopter->caller_sum += (uint64_t)(state - adopter->threads.items) * (state->call ? 1 : -1);
}

/* The one call that runs; 0 when there is none or more than one. */
static uint32_t only_call(const struct adopter *adopter)
{
	return adopter->callers == 1 ? adopter->threads.items[adopter->caller_sum].call : 0;
}

static bool adopt(struct adopter *adopter, struct gmt_snapshot_event *event, uint32_t call)
{
	struct gmt_snapshot *snapshot = adopter->snapshot;
	uint64_t key = (uint64_t)event->trace << 32 | call;
	uint64_t trace;

	if (!gmt_map_find(&adopter->trace_ids, key, &trace)) {
		struct gmt_snapshot_trace *slot = gmt_vec_push(&snapshot->traces);

		trace = snapshot->traces.count - 1;
		if (!slot || !gmt_map_put(&adopter->trace_ids, key, trace))
			return false;
		*slot = snapshot->traces.items[event->trace];
		slot->caller = call;
	}
	event->trace = (uint32_t)trace;
	return true;
}

static bool look_at(struct adopter *adopter, struct gmt_snapshot_event *event)
{
	uint32_t frames = adopter->snapshot->traces.items[event->trace].frames;
	bool has_stack = frames || adopter->snapshot->traces.items[event->trace].stack;
	struct thread_state *state;
	uint32_t call;

	/* Most frees have no stack and say nothing. */
	if (!has_stack)
		return true;
	state = state_of(adopter, event->thread);
	if (!state)
		return false;
	if (state->kind == ORDINARY_THREAD) {
		if (frames)
			note_call(adopter, state, frames);
		return true;
	}
	call = only_call(adopter);
	return !call || adopt(adopter, event, call);
}

static bool has_autograd(const struct gmt_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->threads.count; i++)
		if (is_autograd(snapshot, snapshot->threads.items[i].id))
			return true;
	return false;
}

bool gmt_backward_adopt(struct gmt_snapshot *snapshot)
{
	struct adopter adopter = { .snapshot = snapshot };
	bool done;

	if (!has_autograd(snapshot))
		return true;
	/* Zeroed; indexed by Python stack, never pushed to. */
	done = gmt_vec_reserve(&adopter.stack_kinds, snapshot->frames.count + 1);
	for (size_t i = 0; done && i < snapshot->events.count; i++)
		done = look_at(&adopter, &snapshot->events.items[snapshot->order ? snapshot->order[i] : i]);
	gmt_map_fini(&adopter.thread_ids);
	gmt_map_fini(&adopter.trace_ids);
	gmt_vec_fini(&adopter.threads);
	gmt_vec_fini(&adopter.stack_kinds);
	return done;
}
