/* SPDX-License-Identifier: MIT */
#include "reader/steps/inference_steps.h"

#include <stdlib.h>

#include "reader/steps/step_counters.h"
#include "reader/steps/module_runs.h"
#include "reader/steps/period.h"

enum { MIN_SEPARATED_RUNS = 8 }; /* minimum number of runs to decide that calls are in a loop */

struct call {
	uint64_t stamp; /* of its first allocation */
	uint64_t last_stamp; /* of the last allocation of its run */
	uint32_t context;
};

struct finder {
	struct gmt_module_runs runs;
	GMT_VEC(uint64_t) sequence; /* of the current run */
	GMT_VEC(struct call) calls;
};

static bool add_call(struct finder *finder, const struct gmt_module_run *run, size_t token)
{
	struct call *call = gmt_vec_push(&finder->calls);

	if (call)
		*call = (struct call){
			.stamp = finder->runs.tokens.items[run->first + token].stamp,
			.last_stamp = finder->runs.tokens.items[run->first + run->count - 1].stamp,
			.context = run->context,
		};
	return call;
}

static const struct gmt_module_token *token_of(const struct finder *finder,
	const struct gmt_module_run *run, size_t index)
{
	return &finder->runs.tokens.items[run->first + index];
}

/* The traits by which tokens are compared. */
enum traits { STACK = 0, SIZE = 1, FREES = 2 };

static bool find_period_by(struct finder *finder, const struct gmt_module_run *run, unsigned traits,
	size_t *ret_period, size_t *ret_length)
{
	finder->sequence.count = 0;
	if (!gmt_vec_reserve(&finder->sequence, run->count))
		return false;
	for (size_t t = 0; t < run->count; t++) {
		const struct gmt_module_token *token = token_of(finder, run, t);

		finder->sequence.items[t] = gmt_hash_u64(token->stack) ^
			(traits & SIZE ? gmt_hash_u64(~token->size_bytes) : 0) ^
			(traits & FREES ? gmt_hash_u64(token->frees + 1) : 0);
	}
	return gmt_period_find(finder->sequence.items, run->count, ret_period, ret_length);
}

/* Returns whether other allocations separate the calls of a context. */
static bool are_calls_separated(const struct gmt_module_context *context)
{
	return context->run_count >= 3;
}

/*
 * Finds the period of a run: by stacks, sizes and frees, else by fewer traits, because sizes may
 * vary. Sets *ret_period to 0 if there is no period. Does not use frees if calls are separated:
 * runs are then short, and their first frees differ from those of later calls.
 */
static bool find_period(struct finder *finder, const struct gmt_module_run *run, size_t *ret_period,
	size_t *ret_length)
{
	unsigned max = are_calls_separated(&finder->runs.contexts.items[run->context])
		? STACK | SIZE
		: STACK | SIZE | FREES;

	*ret_period = *ret_length = 0;
	for (unsigned traits = max + 1; traits-- > 0 && !*ret_period;)
		if (!find_period_by(finder, run, traits, ret_period, ret_length))
			return false;
	return true;
}

/*
 * Returns whether the period of a run separates calls. If other allocations separate the calls of a
 * context, a run is one call, unless it consists of whole periods. Even then, the periods are equal
 * layers, not calls, if the calling function itself makes the separating allocations in a loop.
 */
static bool is_periodic(const struct finder *finder, const struct gmt_module_run *run,
	size_t period, size_t length)
{
	const struct gmt_module_context *context = &finder->runs.contexts.items[run->context];
	bool is_in_loop = context->run_count >= MIN_SEPARATED_RUNS &&
		context->separated_count >= context->run_count - context->run_count / 4;

	if (!period)
		return false;
	return !are_calls_separated(context) ||
		(!is_in_loop && length == run->count && run->count % period == 0);
}

static bool split_run(struct finder *finder, const struct gmt_module_run *run)
{
	size_t period, length, phase = 0, start;

	if (!find_period(finder, run, &period, &length))
		return false;
	if (!is_periodic(finder, run, period, length))
		return add_call(finder, run, 0);

	/*
	 * A call begins with the same stack as the run, whatever the size. If there are several such
	 * positions, choose the position that is a whole number of calls after the run's begin.
	 */
	start = run->count - length;
	if (run->count % period == 0)
		phase = (period - start % period) % period;
	if (token_of(finder, run, start + phase)->stack != token_of(finder, run, 0)->stack)
		phase = 0;
	while (phase < period &&
		token_of(finder, run, start + phase)->stack != token_of(finder, run, 0)->stack)
		phase++;
	if (phase == period)
		phase = 0;
	start += phase;
	while (run->count % period == 0 && start >= 2 * period)
		start -= period;
	if (!add_call(finder, run, 0))
		return false;
	/* Tokens before that, fewer than a call, are what the first call set up. */
	for (size_t at = start; at < run->count; at += period)
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

/*
 * Returns the end of the program's own step that contains this stamp. It also ends a step of calls.
 */
static uint64_t main_end(const struct finder *finder, uint64_t stamp)
{
	uint32_t step;

	if (!finder->runs.main || !gmt_series_find(finder->runs.main, stamp, &step))
		return UINT64_MAX;
	return finder->runs.main->steps.items[step].end;
}

/*
 * Returns the begin of the program's own step that contains this stamp, or the end of the last step
 * before it. The input of a first evaluation call is allocated before the call.
 */
static uint64_t main_begin(const struct finder *finder, uint64_t stamp)
{
	uint32_t step;

	if (!finder->runs.main)
		return 0;
	if (gmt_series_find(finder->runs.main, stamp, &step))
		return finder->runs.main->steps.items[step].begin;
	return step ? finder->runs.main->steps.items[step - 1].end : 0;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool make_steps(struct finder *finder, struct gmt_step_series *series)
{
	struct gmt_step_counters counters = { 0 };
	uint64_t last_stamp = 0;
	struct gmt_step *before = NULL;
	bool done = true;

	if (finder->calls.count)
		qsort(finder->calls.items, finder->calls.count, sizeof(*finder->calls.items), by_stamp);
	for (size_t i = 0; done && i < finder->calls.count; i++) {
		counters.is_second_half = i >= finder->calls.count / 2;
		done = gmt_step_counters_add(&counters, finder->calls.items[i].context, "",
			finder->calls.items[i].stamp);
	}
	done = done && gmt_step_counters_chain(&counters, GMT_STEP_COUNTERS_IN_ROWS);
	for (size_t i = 0; done && i < finder->calls.count; i++) {
		const struct call *call = &finder->calls.items[i];
		uint64_t begin = call->stamp - (call->stamp != 0);

		if (!gmt_step_counters_counts(&counters, call->context, "") ||
			(before && begin <= before->begin))
			continue;
		/* The first call after the begin of the program's own step extends back to that begin. */
		if (finder->runs.main && (!before || before->begin < main_begin(finder, call->stamp)))
			begin = main_begin(finder, call->stamp);
		if (before)
			before->end = min(before->end, begin);
		before = gmt_vec_push(&series->steps);
		done = before;
		if (done)
			*before = (struct gmt_step){
				.begin = begin,
				.end = main_end(finder, call->stamp),
			};
		last_stamp = call->last_stamp;
	}
	/*
	 * Events after the last call do not belong to it: its caller may end, and free what it kept.
	 */
	if (before)
		before->end = min(before->end, last_stamp);
	series->source = GMT_STEPS_MODULE_CALLS;
	series->name = "calls of a module";
	gmt_step_counters_fini(&counters);
	return done;
}

bool gmt_inference_steps_find(const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_step_series *main, uint64_t work_end,
	struct gmt_step_series *ret_series)
{
	struct finder finder = {
		.runs = { .recording = recording, .traces = traces, .main = main, .work_end = work_end },
	};
	bool done = gmt_module_runs_collect(&finder.runs);

	for (size_t r = 0; done && r < finder.runs.runs.count; r++)
		done = split_run(&finder, &finder.runs.runs.items[r]);
	done = done && make_steps(&finder, ret_series);
	gmt_module_runs_fini(&finder.runs);
	gmt_vec_fini(&finder.sequence);
	gmt_vec_fini(&finder.calls);
	return done;
}
