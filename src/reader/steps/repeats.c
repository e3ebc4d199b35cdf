/* SPDX-License-Identifier: MIT */
#include "reader/steps/repeats.h"

#include <stdio.h>

#include "reader/steps/period.h"

enum {
	MIN_PERIODS = 10,
	MIN_STEPS = 64,
	ALLOCS_A_STEP = 1000,
	MIN_ALLOCS_A_STEP = 50,
	MIN_FREED = 4, /* at least one in MIN_FREED blocks is freed */
	/* at least 9 of 10 allocations from the first period on belong to periods */
	ALIKE = 9,
	ALIKE_OF = 10,
	COMPARISONS_AN_ALLOCATION = 64, /* bounds the search for an interrupted period */
};

struct finder {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	uint64_t work_end;
	struct gmt_events_reader reader;
	GMT_VEC(uint64_t) stacks; /* for each allocation */
	GMT_VEC(uint64_t) stamps;
	uint64_t frees;
	bool has_python;
};

bool gmt_repeats_counts(const struct gmt_snapshot *snapshot, const struct gmt_snapshot_event *event,
	uint64_t work_end)
{
	if (event->stamp > work_end)
		return false;
	return snapshot->has_torch || snapshot->has_pool
		? event->layer == GMT_LAYER_TORCH || event->space == GMT_SPACE_POOL
		: gmt_layer_can_leak(event->layer);
}

static bool collect(struct finder *finder)
{
	for (size_t i = finder->snapshot->compacted_events; i < finder->snapshot->events.count; i++) {
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
		/*
		 * Without Python, distinguish places by address: without debug information, a native
		 * function has no lines.
		 */
		*stack = finder->has_python ? finder->traces->stack_of_trace[event->trace] : event->trace;
		*stamp = event->stamp;
	}
	return true;
}

/*
 * Makes steps of a fixed number of allocations, from `first` on. The last step gets the remainder.
 */
static bool make_steps(const struct finder *finder, size_t first, size_t allocs_a_step,
	struct gmt_step_series *series)
{
	size_t steps = (finder->stamps.count - first) / allocs_a_step;
	uint64_t before = 0;

	for (size_t i = 0; i < steps; i++) {
		uint64_t last = finder->stamps.items[i + 1 < steps ? first + (i + 1) * allocs_a_step - 1
														   : finder->stamps.count - 1];
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
	/* A step lasts until the next step begins. */
	for (size_t i = 1; i < series->steps.count; i++)
		series->steps.items[i - 1].end = series->steps.items[i].begin;
	return true;
}

/*
 * Returns whether the last period stands at `at`. Takes what it compares from `left`; without it,
 * false.
 */
static bool is_at(const struct finder *finder, size_t at, size_t period, size_t *left)
{
	const uint64_t *stacks = finder->stacks.items, *last = stacks + finder->stacks.count - period;

	for (size_t i = 0; i < period; i++) {
		if (!*left || stacks[at + i] != last[i])
			return false;
		--*left;
	}
	return true;
}

/*
 * Finds a period that other allocations interrupt from time to time, for example to print the loss
 * or store a picture. Searches the whole recording for the sequence that repeats at its end.
 * Allocations between two periods belong to the earlier one. Leaves `series` empty if less than
 * nine tenths of the allocations belong to periods, or if the search takes too long.
 */
static bool find_interrupted(struct finder *finder, struct gmt_step_series *series,
	size_t *ret_period)
{
	size_t count = finder->stacks.count, period, times = 0, first = count,
		   left = COMPARISONS_AN_ALLOCATION * count;

	*ret_period = 0;
	if (!gmt_period_at_end(finder->stacks.items, count, MIN_PERIODS, &period))
		return false;
	if (!period)
		return true;
	for (size_t i = 0; i + period <= count;) {
		struct gmt_step *step,
			*before = series->steps.count ? &series->steps.items[series->steps.count - 1] : NULL;
		uint64_t begin = finder->stamps.items[i];

		if (!is_at(finder, i, period, &left)) {
			i++;
			continue;
		}
		first = i < first ? i : first;
		begin -= begin != 0;
		i += period;
		times++;
		if (before && begin <= before->begin)
			continue;
		if (before)
			before->end = begin;
		step = gmt_vec_push(&series->steps);
		if (!step)
			return false;
		*step = (struct gmt_step){ .begin = begin, .end = finder->stamps.items[count - 1] };
	}
	if (left && times * period * ALIKE_OF >= (count - first) * ALIKE &&
		(count - first) * 2 >= count) {
		*ret_period = period;
		series->frees_itself = !finder->has_python;
	} else {
		series->steps.count = 0;
	}
	return true;
}

static void name_pattern(size_t period, struct gmt_timeline *timeline,
	struct gmt_step_series *series)
{
	snprintf(timeline->name_text, sizeof(timeline->name_text), "%zu allocation%s that repeat%s",
		period, period == 1 ? "" : "s", period == 1 ? "s" : "");
	series->source = GMT_STEPS_PATTERN;
	series->name = timeline->name_text;
}

static bool find(struct finder *finder, struct gmt_timeline *timeline,
	struct gmt_step_series *series, const char **ret_why)
{
	size_t count, period, length, a_step;

	for (uint32_t i = 0; i < finder->traces->stacks.entries.count && !finder->has_python; i++)
		finder->has_python = gmt_traces_has_python(finder->traces, i);
	if (!collect(finder))
		return false;
	count = finder->stacks.count;
	if (!count)
		return true;
	if (finder->frees * MIN_FREED < count) {
		*ret_why =
			"the program frees less than a quarter of its blocks, so no pattern of steps is visible";
		return true;
	}
	if (!gmt_period_find(finder->stacks.items, count, &period, &length))
		return false;
	if (period && length / period >= MIN_PERIODS) {
		name_pattern(period, timeline, series);
		return make_steps(finder, count - length, period, series);
	}
	if (!find_interrupted(finder, series, &period))
		return false;
	if (period) {
		name_pattern(period, timeline, series);
		return true;
	}
	a_step = count / MIN_STEPS < ALLOCS_A_STEP ? count / MIN_STEPS : ALLOCS_A_STEP;
	if (a_step < MIN_ALLOCS_A_STEP) {
		*ret_why = "its allocations do not repeat and are too few to divide into steps";
		return true;
	}
	snprintf(timeline->name_text, sizeof(timeline->name_text), "%zu a step", a_step);
	series->source = GMT_STEPS_ALLOCATIONS;
	series->name = timeline->name_text;
	return make_steps(finder, 0, a_step, series);
}

bool gmt_repeats_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces,
	struct gmt_timeline *timeline, struct gmt_step_series *ret_series, const char **ret_why)
{
	struct finder finder = {
		.snapshot = snapshot, .traces = traces, .work_end = timeline->work_end
	};
	bool done = gmt_events_reader_init(&finder.reader, &snapshot->events,
					GMT_EVENTS_STAMP | GMT_EVENTS_TRACE) &&
		find(&finder, timeline, ret_series, ret_why);

	gmt_events_reader_fini(&finder.reader);
	gmt_vec_fini(&finder.stacks);
	gmt_vec_fini(&finder.stamps);
	return done;
}
