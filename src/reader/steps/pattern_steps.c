/* SPDX-License-Identifier: MIT */
#include "reader/steps/pattern_steps.h"

#include <stdio.h>

#include "reader/steps/allocation_sequence.h"
#include "reader/steps/period.h"

enum {
	MIN_PERIODS = 10,
	MIN_STEPS = 64,
	ALLOCS_PER_STEP = 1000,
	MIN_ALLOCS_PER_STEP = 50,
	/* at least 9 of 10 allocations from the first period on belong to periods */
	IN_PERIOD_NUMERATOR = 9,
	IN_PERIOD_DENOMINATOR = 10,
	COMPARISONS_PER_ALLOCATION = 64, /* bounds the search for an interrupted period */
};

struct finder {
	struct gmt_allocation_sequence allocations;
	GMT_VEC(uint32_t) period; /* origins of the last period */
	bool has_python;
	bool has_failed; /* out of memory */
};

static uint64_t stamp_at(struct finder *finder, size_t index)
{
	const struct gmt_allocation_sequence_block *block =
		gmt_allocation_sequence_block_of(&finder->allocations, index);

	finder->has_failed |= !block;
	return block ? block->stamps[index % GMT_ALLOCATION_SEQUENCE_BLOCK] : 0;
}

static uint32_t origin_at(struct finder *finder, size_t index)
{
	const struct gmt_allocation_sequence_block *block =
		gmt_allocation_sequence_block_of(&finder->allocations, index);

	finder->has_failed |= !block;
	return block ? block->origins[index % GMT_ALLOCATION_SEQUENCE_BLOCK] : 0;
}

/*
 * Makes steps of a fixed number of allocations, from `first` on. The last step gets the remainder.
 */
static bool make_steps(struct finder *finder, size_t first, size_t allocs_per_step,
	struct gmt_step_series *series)
{
	size_t count = finder->allocations.count, steps = (count - first) / allocs_per_step;
	uint64_t before = 0;

	for (size_t i = 0; i < steps; i++) {
		uint64_t last =
			stamp_at(finder, i + 1 < steps ? first + (i + 1) * allocs_per_step - 1 : count - 1);
		uint64_t begin = stamp_at(finder, first + i * allocs_per_step);
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
	return !finder->has_failed;
}

/* Keeps the origins of the last period. */
static bool keep_period(struct finder *finder, size_t period)
{
	if (!gmt_vec_reserve(&finder->period, period))
		return false;
	for (size_t i = 0; i < period; i++)
		finder->period.items[i] = origin_at(finder, finder->allocations.count - period + i);
	return !finder->has_failed;
}

/*
 * Returns whether the last period begins at index `at`. Subtracts each comparison from
 * *comparisons_left. Returns false when no comparison is left.
 */
static bool is_period_at(struct finder *finder, size_t at, size_t period, size_t *comparisons_left)
{
	for (size_t i = 0; i < period; i++) {
		if (!*comparisons_left || origin_at(finder, at + i) != finder->period.items[i])
			return false;
		--*comparisons_left;
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
	size_t count = finder->allocations.count, period, periods = 0, first = count,
		   comparisons_left = COMPARISONS_PER_ALLOCATION * count;

	*ret_period = 0;
	if (!gmt_period_find_at_end(finder->allocations.last.items, finder->allocations.last.count,
			MIN_PERIODS, &period))
		return false;
	gmt_allocation_sequence_forget_last(&finder->allocations);
	if (!period)
		return true;
	if (!keep_period(finder, period))
		return false;
	for (size_t i = 0; i + period <= count;) {
		struct gmt_step *step,
			*before = series->steps.count ? &series->steps.items[series->steps.count - 1] : NULL;
		uint64_t begin;

		if (!is_period_at(finder, i, period, &comparisons_left)) {
			i++;
			continue;
		}
		first = i < first ? i : first;
		begin = stamp_at(finder, i);
		begin -= begin != 0;
		i += period;
		periods++;
		if (before && begin <= before->begin)
			continue;
		if (before)
			before->end = begin;
		step = gmt_vec_push(&series->steps);
		if (!step)
			return false;
		*step = (struct gmt_step){ .begin = begin, .end = stamp_at(finder, count - 1) };
	}
	if (comparisons_left &&
		periods * period * IN_PERIOD_DENOMINATOR >= (count - first) * IN_PERIOD_NUMERATOR &&
		(count - first) * 2 >= count) {
		*ret_period = period;
		series->frees_itself = !finder->has_python;
	} else {
		series->steps.count = 0;
	}
	return !finder->has_failed;
}

/*
 * Finds the period with which the allocations repeat up to the end, and the number of allocations
 * that repeat. The last GMT_ALLOCATION_SEQUENCE_LAST allocations show the period, and a search
 * backward from them shows how many repeat. So of longer recordings, only periods up to a third of
 * this number are found. Sets *ret_period to 0 if less than half of the allocations repeat.
 */
static bool find_period(struct finder *finder, size_t *ret_period, size_t *ret_length)
{
	size_t count = finder->allocations.count, min_length = count / 2 + count % 2,
		   last_count = finder->allocations.last.count;

	if (!gmt_period_find_at_least(finder->allocations.last.items, last_count,
			min_length < last_count ? min_length : last_count, ret_period, ret_length))
		return false;
	if (!*ret_period || *ret_length < last_count)
		return true;
	while (*ret_length < count &&
		origin_at(finder, count - *ret_length - 1) ==
			origin_at(finder, count - *ret_length - 1 + *ret_period))
		++*ret_length;
	if (*ret_length < min_length)
		*ret_period = 0;
	return !finder->has_failed;
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
	size_t count = finder->allocations.count, period, length, allocs_per_step;

	if (!count)
		return true;
	if (!gmt_allocation_sequence_frees_enough(finder->allocations.frees, count)) {
		*ret_why = "the program frees less than a quarter of its blocks, so no pattern of steps is "
				   "visible";
		return true;
	}
	if (!find_period(finder, &period, &length))
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
	allocs_per_step = count / MIN_STEPS < ALLOCS_PER_STEP ? count / MIN_STEPS : ALLOCS_PER_STEP;
	if (allocs_per_step < MIN_ALLOCS_PER_STEP) {
		*ret_why = "its allocations do not repeat and are too few to divide into steps";
		return true;
	}
	snprintf(timeline->name_text, sizeof(timeline->name_text), "%zu a step", allocs_per_step);
	series->source = GMT_STEPS_ALLOCATIONS;
	series->name = timeline->name_text;
	return make_steps(finder, 0, allocs_per_step, series);
}

bool gmt_pattern_steps_find(const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_timeline *timeline, struct gmt_step_series *ret_series, const char **ret_why)
{
	struct finder finder = { 0 };
	bool done;

	for (uint32_t i = 0; i < traces->stacks.entries.count && !finder.has_python; i++)
		finder.has_python = gmt_traces_has_python(traces, i);
	/*
	 * Without Python, distinguish origins by address: without debug information, a native function
	 * has no lines.
	 */
	done = gmt_allocation_sequence_compute(&finder.allocations, recording, traces,
			   timeline->work_end, finder.has_python) &&
		find(&finder, timeline, ret_series, ret_why);
	gmt_allocation_sequence_fini(&finder.allocations);
	gmt_vec_fini(&finder.period);
	return done;
}
