/* SPDX-License-Identifier: MIT */
#include "model/forward.h"

#include <stdlib.h>

#include "model/counters.h"
#include "model/period.h"

/* What a stack says about calls of modules. */
enum { NOT_LOOKED_AT = 0, NEUTRAL, OUTSIDE, FIRST_CONTEXT };

/* A place in the program that calls a module. */
struct context {
	uint64_t hash;      /* of the frames outside of the call */
	uint32_t last_step; /* of main, + 1 */
	uint32_t step_count; /* steps of main that it shows up in */
	uint32_t last_backward; /* step of main, + 1 ... */
	uint32_t backward_count; /* ... in which a backward pass followed it */
	uint32_t run_count;
	bool is_evaluation;
};

/* Allocations of one thread in calls from one context, nothing outside of calls between them. */
struct run {
	uint32_t context;
	size_t first, count; /* tokens */
};

struct token {
	uint64_t stamp;
	uint64_t size_bytes;
	uint32_t stack;
};

struct call {
	uint64_t stamp; /* of its first allocation */
	uint64_t last_stamp; /* of the last one of its run */
	uint32_t context;
};

struct finder {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_step_series *main;
	uint64_t work_end;
	struct gmt_events_reader reader;
	GMT_VEC(uint32_t) stack_kinds; /* by stack: as above, from FIRST_CONTEXT on the context's index */
	struct gmt_map context_ids;
	GMT_VEC(struct context) contexts;
	struct gmt_map open_runs; /* thread to index of its run, + 1; 0 when it is outside */
	GMT_VEC(struct run) runs;
	GMT_VEC(struct token) tokens; /* of all runs, those of a run linked by `next` */
	GMT_VEC(uint32_t) run_of;     /* by token */
	GMT_VEC(uint64_t) sequence;   /* of the run at hand */
	GMT_VEC(struct call) calls;
};

static uint32_t landmarks_of(const struct finder *finder, uint32_t place)
{
	return finder->traces->place_landmarks.items[place];
}

/* The outermost call of a module in a stack; false when there is none, or it is a loss that is called. */
static bool find_call(const struct finder *finder, const uint32_t *places, uint32_t count, uint32_t *ret_at)
{
	uint32_t at = count;

	while (at && !(landmarks_of(finder, places[at - 1]) & GMT_LANDMARK_BIT(MODULE_CALL)))
		at--;
	if (!at)
		return false;
	*ret_at = at; /* the first frame outside of it */
	for (at--; at && landmarks_of(finder, places[at]) & GMT_LANDMARK_BIT(MODULE_CALL); at--)
		;
	return !(landmarks_of(finder, places[at]) & GMT_LANDMARK_BIT(LOSS));
}

/* The Python frames outside of a call: of native ones there are more or fewer, as deep stacks are cut. */
static bool context_of(struct finder *finder, const uint32_t *outside, uint32_t count, uint32_t *ret_context)
{
	uint64_t hash = 0, index;

	for (uint32_t i = 0; i < count; i++)
		if (gmt_traces_place(finder->traces, outside[i])->kind == GMT_PLACE_PYTHON)
			hash = gmt_hash_u64(hash ^ outside[i]);
	if (!gmt_map_find(&finder->context_ids, hash, &index)) {
		struct context *context = gmt_vec_push(&finder->contexts);

		index = finder->contexts.count - 1;
		if (!context || !gmt_map_put(&finder->context_ids, hash, index))
			return false;
		*context = (struct context){ .hash = hash };
	}
	*ret_context = (uint32_t)index;
	return true;
}

static bool kind_of(struct finder *finder, uint32_t stack, uint32_t *ret_kind)
{
	uint32_t *kind = &finder->stack_kinds.items[stack];
	uint32_t landmarks = finder->traces->stack_landmarks.items[stack];
	uint32_t count, at, context;
	const uint32_t *places;

	if (*kind == NOT_LOOKED_AT) {
		places = gmt_traces_stack(finder->traces, stack, &count);
		if (landmarks & GMT_LANDMARK_BIT(BACKWARD) || !gmt_traces_has_python(finder->traces, stack)) {
			*kind = NEUTRAL;
		} else if (landmarks & (GMT_LANDMARK_BIT(OPTIMIZER) | GMT_LANDMARK_BIT(CLOSURE) |
				GMT_LANDMARK_BIT(BACKWARD_CALL)) ||
			!find_call(finder, places, count, &at)) {
			*kind = OUTSIDE;
		} else {
			if (!context_of(finder, places + at, count - at, &context))
				return false;
			*kind = FIRST_CONTEXT + context;
		}
	}
	*ret_kind = *kind;
	return true;
}

/*
 * The allocations that count, before the end of the work: PyTorch's blocks; with its backend
 * cudaMallocAsync these are the driver's.
 */
static const struct gmt_snapshot_event *counting_event(struct finder *finder, size_t index)
{
	const struct gmt_snapshot_event *event = gmt_events_at(&finder->reader, index);

	return event->kind == GMT_KIND_ALLOC &&
		(event->layer == GMT_LAYER_TORCH || event->space == GMT_SPACE_POOL) &&
		event->stamp <= finder->work_end ? event : NULL;
}

/* An event in a step of `main`: a call, or the backward pass of the call before it. */
static void count_in_step(struct finder *finder, uint32_t kind, uint32_t landmarks, uint32_t step,
	uint32_t *last_context_plus_1)
{
	struct context *context;

	if (kind >= FIRST_CONTEXT) {
		*last_context_plus_1 = kind - FIRST_CONTEXT + 1;
		context = &finder->contexts.items[kind - FIRST_CONTEXT];
		context->step_count += context->last_step != step + 1;
		context->last_step = step + 1;
	} else if (*last_context_plus_1 &&
		landmarks & (GMT_LANDMARK_BIT(BACKWARD) | GMT_LANDMARK_BIT(BACKWARD_CALL))) {
		context = &finder->contexts.items[*last_context_plus_1 - 1];
		context->backward_count += context->last_backward != step + 1;
		context->last_backward = step + 1;
	}
}

/* In how many steps of `main` each context shows up, and is followed by a backward pass. */
static bool count_contexts(struct finder *finder)
{
	uint32_t step = 0, kind, last_context_plus_1 = 0;

	for (size_t i = 0; i < finder->snapshot->events.count; i++) {
		const struct gmt_snapshot_event *event = counting_event(finder, i);

		if (!event)
			continue;

		uint32_t stack = finder->traces->stack_of_trace[event->trace];
		if (!kind_of(finder, stack, &kind))
			return false;
		if (finder->main && gmt_series_find_next(finder->main, event->stamp, &step))
			count_in_step(finder, kind, finder->traces->stack_landmarks.items[stack], step,
				&last_context_plus_1);
	}
	for (size_t i = 0; i < finder->contexts.count; i++) {
		struct context *context = &finder->contexts.items[i];

		context->is_evaluation = !finder->main ||
			(context->step_count < (finder->main->steps.count + 1) / 2 &&
				context->backward_count * 2 <= context->step_count);
	}
	return true;
}

static bool open_run(struct finder *finder, uint32_t thread, uint32_t context, uint64_t *ret_run)
{
	struct run *run = gmt_vec_push(&finder->runs);

	if (!run)
		return false;
	*run = (struct run){ .context = context };
	finder->contexts.items[context].run_count++;
	*ret_run = finder->runs.count;
	return gmt_map_put(&finder->open_runs, thread, *ret_run);
}

static bool add_to_run(struct finder *finder, const struct gmt_snapshot_event *event, uint32_t context)
{
	uint64_t run;

	if ((!gmt_map_find(&finder->open_runs, event->thread, &run) || !run ||
			finder->runs.items[run - 1].context != context) &&
		!open_run(finder, event->thread, context, &run))
		return false;

	struct token *token = gmt_vec_push(&finder->tokens);
	uint32_t *run_of = gmt_vec_push(&finder->run_of);
	if (!token || !run_of)
		return false;
	*token = (struct token){
		.stamp = event->stamp, .size_bytes = event->size_bytes,
		.stack = finder->traces->stack_of_trace[event->trace],
	};
	*run_of = (uint32_t)run - 1;
	finder->runs.items[run - 1].count++;
	return true;
}

static bool collect_runs(struct finder *finder)
{
	uint32_t kind, evaluations = 0;

	for (size_t i = 0; i < finder->contexts.count; i++)
		evaluations += finder->contexts.items[i].is_evaluation;
	/* Nothing to collect, as in most training loops. */
	for (size_t i = 0; evaluations && i < finder->snapshot->events.count; i++) {
		const struct gmt_snapshot_event *event = counting_event(finder, i);

		if (!event)
			continue;
		if (!kind_of(finder, finder->traces->stack_of_trace[event->trace], &kind))
			return false;
		if (kind == NEUTRAL)
			continue;
		if (kind == OUTSIDE || !finder->contexts.items[kind - FIRST_CONTEXT].is_evaluation) {
			if (!gmt_map_put(&finder->open_runs, event->thread, 0))
				return false;
		} else if (!add_to_run(finder, event, kind - FIRST_CONTEXT)) {
			return false;
		}
	}
	return true;
}

/* Lays the tokens of each run next to each other, in order. */
static bool sort_tokens(struct finder *finder)
{
	GMT_VEC(struct token) sorted = { 0 };
	size_t first = 0;

	if (!gmt_vec_reserve(&sorted, finder->tokens.count))
		return false;
	for (size_t r = 0; r < finder->runs.count; r++) {
		finder->runs.items[r].first = first;
		first += finder->runs.items[r].count;
		finder->runs.items[r].count = 0;
	}
	for (size_t t = 0; t < finder->tokens.count; t++) {
		struct run *run = &finder->runs.items[finder->run_of.items[t]];

		sorted.items[run->first + run->count++] = finder->tokens.items[t];
	}
	gmt_vec_fini(&finder->tokens);
	finder->tokens.items = sorted.items;
	finder->tokens.count = first;
	finder->tokens.capacity = sorted.capacity;
	return true;
}

static bool add_call(struct finder *finder, const struct run *run, size_t token)
{
	struct call *call = gmt_vec_push(&finder->calls);

	if (call)
		*call = (struct call){
			.stamp = finder->tokens.items[run->first + token].stamp,
			.last_stamp = finder->tokens.items[run->first + run->count - 1].stamp,
			.context = run->context,
		};
	return call;
}

/* The period of a run: by stacks and sizes, else (sizes vary) by stacks alone. 0 when it has none. */
static bool find_period(struct finder *finder, const struct run *run, size_t *ret_period, size_t *ret_length)
{
	*ret_period = *ret_length = 0;
	for (int with_sizes = 1; with_sizes >= 0 && !*ret_period; with_sizes--) {
		finder->sequence.count = 0;
		if (!gmt_vec_reserve(&finder->sequence, run->count))
			return false;
		for (size_t t = 0; t < run->count; t++) {
			const struct token *token = &finder->tokens.items[run->first + t];

			finder->sequence.items[t] = gmt_hash_u64(token->stack) ^
				(with_sizes ? gmt_hash_u64(~token->size_bytes) : 0);
		}
		if (!gmt_period_find(finder->sequence.items, run->count, ret_period, ret_length))
			return false;
	}
	return true;
}

/*
 * Whether what lies in a run is told by its period. Where other allocations part the calls of a context,
 * a run is one call unless it is nothing but whole periods: a network's equal layers seldom are.
 */
static bool is_periodic(const struct finder *finder, const struct run *run, size_t period, size_t length)
{
	if (!period)
		return false;
	return finder->contexts.items[run->context].run_count < 3 ||
		(length == run->count && run->count % period == 0);
}

static const struct token *token_of(const struct finder *finder, const struct run *run, size_t index)
{
	return &finder->tokens.items[run->first + index];
}

static bool split_run(struct finder *finder, const struct run *run)
{
	size_t period, length, phase = 0, start;

	if (!find_period(finder, run, &period, &length))
		return false;
	if (!is_periodic(finder, run, period, length))
		return add_call(finder, run, 0);

	/* A call begins with what the run began with, whatever its size. */
	start = run->count - length;
	while (phase < period && token_of(finder, run, start + phase)->stack != token_of(finder, run, 0)->stack)
		phase++;
	if (phase == period)
		phase = 0;
	if (!add_call(finder, run, 0))
		return false;
	/* What stands in front and is less than a call is what the first one set up. */
	for (size_t at = start + phase; at < run->count; at += period)
		if (at >= period && !add_call(finder, run, at))
			return false;
	return true;
}

static int by_stamp(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

/* Where the program's own step that holds this stamp ends; it also ends a call's step. */
static uint64_t main_end(const struct finder *finder, uint64_t stamp)
{
	uint32_t step;

	if (!finder->main || !gmt_series_find(finder->main, stamp, &step))
		return UINT64_MAX;
	return finder->main->steps.items[step].end;
}

/* Where it begins, or the last one ended: what a first call of evaluation is given is made before it. */
static uint64_t main_begin(const struct finder *finder, uint64_t stamp)
{
	uint32_t step;

	if (!finder->main)
		return 0;
	if (gmt_series_find(finder->main, stamp, &step))
		return finder->main->steps.items[step].begin;
	return step ? finder->main->steps.items[step - 1].end : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool make_steps(struct finder *finder, struct gmt_step_series *series)
{
	struct gmt_counters counters = { 0 };
	uint64_t last_stamp = 0;
	struct gmt_step *before = NULL;
	bool done = true;

	if (finder->calls.count)
		qsort(finder->calls.items, finder->calls.count, sizeof(*finder->calls.items), by_stamp);
	for (size_t i = 0; done && i < finder->calls.count; i++)
		done = gmt_counters_add(&counters, finder->calls.items[i].context, "", finder->calls.items[i].stamp);
	done = done && gmt_counters_chain(&counters, GMT_COUNTERS_IN_ROWS);
	for (size_t i = 0; done && i < finder->calls.count; i++) {
		const struct call *call = &finder->calls.items[i];
		uint64_t begin = call->stamp - (call->stamp != 0);

		if (!gmt_counters_counts(&counters, call->context, "") || (before && begin <= before->begin))
			continue;
		/* The first one since the program's own step began reaches back to there. */
		if (finder->main && (!before || before->begin < main_begin(finder, call->stamp)))
			begin = main_begin(finder, call->stamp);
		if (before)
			before->end = least(before->end, begin);
		before = gmt_vec_push(&series->steps);
		done = before;
		if (done)
			*before = (struct gmt_step){
				.begin = begin, .end = main_end(finder, call->stamp),
			};
		last_stamp = call->last_stamp;
	}
	/* What comes behind the last call is no part of it: its caller may end, and free what it kept. */
	if (before)
		before->end = least(before->end, last_stamp);
	series->source = GMT_STEPS_FORWARD;
	series->name = "calls of a module";
	gmt_counters_fini(&counters);
	return done;
}

/* Whether there can be calls at all: events of that kind, and a stack with a module's call. */
static bool has_calls(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces)
{
	if (!snapshot->has_torch && !snapshot->has_pool)
		return false;
	for (size_t i = 0; i < traces->stacks.entries.count; i++)
		if (traces->stack_landmarks.items[i] & GMT_LANDMARK_BIT(MODULE_CALL))
			return true;
	return false;
}

bool gmt_forward_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces,
	const struct gmt_step_series *main, uint64_t work_end, struct gmt_step_series *ret_series)
{
	struct finder finder = {
		.snapshot = snapshot, .traces = traces, .main = main, .work_end = work_end,
	};
	/* Zeroed; indexed by stack, never pushed to. */
	bool done = gmt_events_reader_init(&finder.reader, &snapshot->events,
		GMT_EVENTS_STAMP | GMT_EVENTS_SIZE | GMT_EVENTS_TRACE) &&
		gmt_vec_reserve(&finder.stack_kinds, traces->stacks.entries.count + 1) &&
		(!has_calls(snapshot, traces) || (count_contexts(&finder) && collect_runs(&finder))) && sort_tokens(&finder);

	for (size_t r = 0; done && r < finder.runs.count; r++)
		done = split_run(&finder, &finder.runs.items[r]);
	done = done && make_steps(&finder, ret_series);
	gmt_events_reader_fini(&finder.reader);
	gmt_vec_fini(&finder.stack_kinds);
	gmt_map_fini(&finder.context_ids);
	gmt_vec_fini(&finder.contexts);
	gmt_map_fini(&finder.open_runs);
	gmt_vec_fini(&finder.runs);
	gmt_vec_fini(&finder.tokens);
	gmt_vec_fini(&finder.run_of);
	gmt_vec_fini(&finder.sequence);
	gmt_vec_fini(&finder.calls);
	return done;
}
