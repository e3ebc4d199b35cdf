/* SPDX-License-Identifier: MIT */
/* Finds growth, failed requests and ends of the ranks. Checks whether their clocks agree. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_make.h"
#include "analysis/job/time_curve.h"
#include "base/text.h"

enum { LIST_BYTES = 120 };

/* Starts of one job lie closer together than this, unless the clocks differ. */
static const uint64_t max_start_distance_ns = UINT64_C(600) * 1000000000;

static int compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static bool is_growth(const struct gmt_job *job, const struct gmt_summarized_finding *finding)
{
	const char *definition = gmt_job_text_of(job->store, finding->definition);

	return finding->device >= 0 && finding->has_step &&
		(strcmp(definition, "growth") == 0 || strcmp(definition, "unexplained") == 0);
}

static void find_own_events(const struct gmt_job *job, struct gmt_job_rank *rank)
{
	const struct gmt_process_summary *summary = rank->summary;

	for (uint32_t i = 0; i < summary->findings_kept && !rank->growth; i++)
		if (is_growth(job, &summary->findings[i]))
			rank->growth = &summary->findings[i];
	for (uint32_t i = 0; i < summary->refusal_count && !rank->failure; i++)
		if (!summary->refusals[i].is_recovered)
			rank->failure = &summary->refusals[i];
}

/* Checks whether a rank started too long before or after the median start. */
static bool judge_clocks(struct gmt_job *job)
{
	GMT_VEC(uint64_t) starts = { 0 };
	uint64_t middle, most_ns = 0;
	uint32_t far = 0;

	if (!gmt_vec_reserve(&starts, job->ranks.count + 1))
		return false;
	for (size_t i = 0; i < job->ranks.count; i++)
		starts.items[starts.count++] = job->ranks.items[i].summary->start_time_ns;
	qsort(starts.items, starts.count, sizeof(*starts.items), compare_numbers);
	middle = starts.count ? starts.items[(starts.count - 1) / 2] : 0;
	for (size_t i = 0; i < starts.count; i++) {
		uint64_t apart =
			starts.items[i] > middle ? starts.items[i] - middle : middle - starts.items[i];

		far += apart > max_start_distance_ns;
		most_ns = apart > most_ns ? apart : most_ns;
	}
	gmt_vec_fini(&starts);
	job->clocks_differ = far;
	return !far ||
		gmt_job_remark(job,
			"%" PRIu32 " rank%s started up to %s from the others, or a clock is wrong: "
			"times are not compared",
			far, gmt_job_plural(far), gmt_text_duration(most_ns).text);
}

static bool comes_first(const struct gmt_job *job, const struct gmt_job_rank *a, uint64_t a_ns,
	uint64_t a_step, const struct gmt_job_rank *b, uint64_t b_ns, uint64_t b_step)
{
	if (a_step != b_step)
		return a_step < b_step;
	if (!job->clocks_differ)
		return a->summary->start_time_ns + a_ns < b->summary->start_time_ns + b_ns;
	return false;
}

static void find_growth(struct gmt_job *job)
{
	const struct gmt_job_rank *first = NULL;

	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];
		const char *why = gmt_job_text_of(job->store, rank->summary->why_not_judged);

		if (*why && !rank->growth) {
			job->why_not_judged = job->not_judged++ ? job->why_not_judged : why;
			continue;
		}
		if (!rank->growth)
			continue;
		job->grown++;
		if (!first ||
			comes_first(job, rank, rank->growth->first_time_ns, rank->growth->first_step, first,
				first->growth->first_time_ns, first->growth->first_step)) {
			first = rank;
			job->first_grown = i;
		}
	}
}

/*
 * Gets what a rank held in a step. The steps that one row of the curve stands for have one maximum.
 */
static bool held_in_step(const struct gmt_process_summary *summary, uint32_t step,
	uint64_t *ret_bytes)
{
	uint32_t row = 0;

	if (!summary->step_count || summary->steps <= step)
		return false;
	while (row + 1 < summary->step_count && summary->step_curve[row + 1].first_step <= step)
		row++;
	*ret_bytes = summary->step_curve[row].peak_bytes;
	return true;
}

static bool held_at_time(const struct gmt_process_summary *summary, uint64_t epoch_ns,
	uint64_t *ret_bytes)
{
	uint64_t time_ns = epoch_ns > summary->start_time_ns ? epoch_ns - summary->start_time_ns : 0;
	/* Not less than the length of a part. */
	uint64_t part_ns = 2 * (summary->duration_ns / GMT_TIME_CURVE_POINTS + 1);
	uint32_t row = 0;

	if (!summary->time_count || time_ns > summary->duration_ns)
		return false;
	/* The first parts of a compacted recording are not known. */
	if (time_ns + part_ns < summary->time_curve[0].end_time_ns)
		return false;
	while (row + 1 < summary->time_count && summary->time_curve[row].end_time_ns < time_ns)
		row++;
	*ret_bytes = summary->time_curve[row].peak_bytes;
	return true;
}

/*
 * Finds what the others held when a rank failed. The step that failed may not have ended on the
 * others either, so the last one that ended counts.
 */
static bool find_others(struct gmt_job *job, struct gmt_job_failure *moment)
{
	const struct gmt_job_rank *failed = &job->ranks.items[moment->rank];
	GMT_VEC(uint64_t) values = { 0 };

	if (!gmt_vec_reserve(&values, job->ranks.count + 1))
		return false;
	moment->is_by_step = failed->failure->has_step;
	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_process_summary *summary = job->ranks.items[i].summary;
		uint64_t bytes;
		bool is_known;

		if (i == moment->rank)
			continue;
		if (moment->is_by_step) {
			uint32_t step = failed->failure->step;

			if (summary->steps && step >= summary->steps && step - summary->steps <= 1)
				step = (uint32_t)summary->steps - 1;
			is_known = held_in_step(summary, step, &bytes);
		} else
			is_known = !job->clocks_differ &&
				held_at_time(summary, failed->summary->start_time_ns + failed->failure->time_ns,
					&bytes);
		if (is_known)
			values.items[values.count++] = bytes;
	}
	moment->others = gmt_spread_of(values.items, values.count);
	if (!values.count)
		moment->why_not = job->ranks.count == 1 ? "there is no other rank"
			: moment->is_by_step                ? "no other rank reached this step"
			: job->clocks_differ                ? "the clocks differ"
												: "no other rank ran at this time";
	gmt_vec_fini(&values);
	return true;
}

static bool find_failures(struct gmt_job *job)
{
	const struct gmt_job_rank *first = NULL;

	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];

		job->failed += rank->summary->failures > 0;
		if (!rank->failure)
			continue;
		/* A request outside of all steps has no number to compare. */
		bool by_step = first && rank->failure->has_step && first->failure->has_step;
		if (!first ||
			comes_first(job, rank, rank->failure->time_ns, by_step ? rank->failure->step : 0, first,
				first->failure->time_ns, by_step ? first->failure->step : 0)) {
			first = rank;
			job->first_failure.rank = i;
		}
	}
	return !first || find_others(job, &job->first_failure);
}

static void find_ends(struct gmt_job *job)
{
	uint64_t first_ns = UINT64_MAX;

	job->least_steps = UINT64_MAX;
	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_process_summary *summary = job->ranks.items[i].summary;
		uint64_t end_ns = summary->start_time_ns + summary->duration_ns;

		job->ends[summary->end]++;
		job->incomplete += !summary->is_complete;
		job->without_steps += !summary->steps;
		if (summary->steps > job->most_steps)
			job->most_steps = summary->steps;
		if (summary->steps && summary->steps < job->least_steps)
			job->least_steps = summary->steps;
		if (summary->end == GMT_PROCESS_END_KILLED && !job->clocks_differ && end_ns < first_ns) {
			first_ns = end_ns;
			job->first_killed = i;
		}
	}
	if (job->least_steps == UINT64_MAX)
		job->least_steps = 0;
}

/* Names the ranks that took no step although others did. */
static bool remark_without_steps(struct gmt_job *job)
{
	GMT_VEC(uint32_t) ranks = { 0 };
	char list[LIST_BYTES];
	bool done;

	if (!job->without_steps || !job->most_steps || !job->has_ranks)
		return true;
	for (size_t i = 0; i < job->ranks.count; i++) {
		uint32_t *rank;

		if (job->ranks.items[i].summary->steps)
			continue;
		rank = gmt_vec_push(&ranks);
		if (!rank)
			return false;
		*rank = (uint32_t)job->ranks.items[i].launch.rank;
	}
	gmt_job_list_ranks(ranks.items, ranks.count, list, sizeof(list));
	done = gmt_job_remark(job, "%" PRIu32 " rank%s took no step: %s", job->without_steps,
		gmt_job_plural(job->without_steps), list);
	gmt_vec_fini(&ranks);
	return done;
}

bool gmt_job_find_events(struct gmt_job *job)
{
	for (size_t i = 0; i < job->ranks.count; i++)
		find_own_events(job, &job->ranks.items[i]);
	if (!judge_clocks(job))
		return false;
	find_growth(job);
	find_ends(job);
	return find_failures(job) && remark_without_steps(job);
}
