/* SPDX-License-Identifier: MIT */
#include "reader/steps/repeats.h"

#include <stdio.h>

#include "reader/steps/period.h"

enum {
	LEAST_PERIODS = 10,
	LEAST_STEPS = 64,
	ALLOCS_A_STEP = 1000,
	LEAST_ALLOCS_A_STEP = 50,
	LEAST_FREED = 4, /* one of so many blocks */
};

struct finder {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	uint64_t work_end;
	struct gmt_events_reader reader;
	GMT_VEC(uint64_t) stacks; /* by allocation */
	GMT_VEC(uint64_t) stamps;
	uint64_t frees;
	bool has_python;
};

bool gmt_repeats_counts(const struct gmt_snapshot *snapshot, const struct gmt_snapshot_event *event, uint64_t work_end)
{
	if (event->stamp > work_end)
		return false;
	return snapshot->has_torch || snapshot->has_pool ? event->layer == GMT_LAYER_TORCH || event->space == GMT_SPACE_POOL :
		gmt_layer_is_got(event->layer);
}

static bool collect(struct finder *finder)
{
	for (size_t i = finder->snapshot->past_events; i < finder->snapshot->events.count; i++) {
		const struct gmt_snapshot_event *event = gmt_events_at(&finder->reader, i);
		uint64_t *stack, *stamp;

		if (!gmt_repeats_counts(finder->snapshot, event, finder->work_end))
			continue;
		finder->frees += event->kind == GMT_KIND_FREE;
		if (event->kind != GMT_KIND_ALLOC)
			continue;
		stack = gmt_vec_push(&finder->stacks);
		stamp = gmt_vec_push(&finder->stamps);
		if (!stack || !stamp)
			return false;
		/* By address: without debugging information lines of a native function are one place. */
		*stack = finder->has_python ? finder->traces->stack_of_trace[event->trace] : event->trace;
		*stamp = event->stamp;
	}
	return true;
}

/* Steps of so many allocations each, from one on; what is left over at the end belongs to the last one. */
static bool make_steps(const struct finder *finder, size_t first, size_t allocs_a_step, struct gmt_step_series *series)
{
	size_t steps = (finder->stamps.count - first) / allocs_a_step;
	uint64_t before = 0;

	for (size_t i = 0; i < steps; i++) {
		uint64_t last = finder->stamps.items[i + 1 < steps ? first + (i + 1) * allocs_a_step - 1 : finder->stamps.count - 1];
		uint64_t begin = finder->stamps.items[first + i * allocs_a_step];
		struct gmt_step *step;

		begin -= begin != 0;
		if (begin < before || last <= begin)
			continue;
		step = gmt_vec_push(&series->steps);
		if (!step)
			return false;
		*step = (struct gmt_step){ .begin = begin, .end = last };
		before = last;
	}
	series->frees_itself = !finder->has_python;
	/* A step goes on until the next one begins. */
	for (size_t i = 1; i < series->steps.count; i++)
		series->steps.items[i - 1].end = series->steps.items[i].begin;
	return true;
}

static bool find(struct finder *finder, struct gmt_timeline *timeline, struct gmt_step_series *series, const char **ret_why)
{
	size_t count, period, length, a_step;

	for (uint32_t i = 0; i < finder->traces->stacks.entries.count && !finder->has_python; i++)
		finder->has_python = gmt_traces_has_python(finder->traces, i);
	if (!collect(finder))
		return false;
	count = finder->stacks.count;
	if (!count)
		return true;
	if (finder->frees * LEAST_FREED < count) {
		*ret_why = "it frees less than a quarter of its blocks, which may be all that it needs";
		return true;
	}
	if (!gmt_period_find(finder->stacks.items, count, &period, &length))
		return false;
	if (period && length / period >= LEAST_PERIODS) {
		snprintf(timeline->name_text, sizeof(timeline->name_text), "%zu allocation%s that repeat%s", period,
			period == 1 ? "" : "s", period == 1 ? "s" : "");
		series->source = GMT_STEPS_PATTERN;
		series->name = timeline->name_text;
		return make_steps(finder, count - length, period, series);
	}
	a_step = count / LEAST_STEPS < ALLOCS_A_STEP ? count / LEAST_STEPS : ALLOCS_A_STEP;
	if (a_step < LEAST_ALLOCS_A_STEP) {
		*ret_why = "its allocations do not repeat, and are too few to count by thousands";
		return true;
	}
	snprintf(timeline->name_text, sizeof(timeline->name_text), "%zu a step", a_step);
	series->source = GMT_STEPS_ALLOCATIONS;
	series->name = timeline->name_text;
	return make_steps(finder, 0, a_step, series);
}

bool gmt_repeats_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces, struct gmt_timeline *timeline,
	struct gmt_step_series *ret_series, const char **ret_why)
{
	struct finder finder = { .snapshot = snapshot, .traces = traces, .work_end = timeline->work_end };
	bool done = gmt_events_reader_init(&finder.reader, &snapshot->events, GMT_EVENTS_STAMP | GMT_EVENTS_TRACE) &&
		find(&finder, timeline, ret_series, ret_why);

	gmt_events_reader_fini(&finder.reader);
	gmt_vec_fini(&finder.stacks);
	gmt_vec_fini(&finder.stamps);
	return done;
}
