/* SPDX-License-Identifier: MIT */
/* Rules about a job: the spread of its ranks' peaks, and ranks without a file. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/gate/gate.h"
#include "analysis/job/job.h"
#include "base/text.h"

enum { LIST_BYTES = 120 };

struct judge {
	struct gmt_verdict *verdict;
	const struct gmt_limits *limits;
	const struct gmt_gate_job *input;
	const struct gmt_job *job;
};

static uint32_t subject_of(const struct judge *judge, uint32_t rank)
{
	return judge->input->subjects[judge->job->ranks.items[rank].summary - judge->input->summaries];
}

static void add_check(const struct judge *judge, const struct gmt_verdict_check *check,
	struct gmt_finding **ret_finding)
{
	uint32_t number = gmt_verdict_add_check(judge->verdict, *check);

	*ret_finding =
		check->state == GMT_CHECK_FAILED ? gmt_verdict_add_finding(judge->verdict, number) : NULL;
	if (*ret_finding)
		(*ret_finding)->title = check->text;
}

/* Adds the lines by which the fuller rank differs. */
static void explain(const struct judge *judge, struct gmt_finding *finding, uint32_t high,
	uint32_t low)
{
	struct gmt_job_difference difference = { 0 };

	gmt_job_explain(judge->job, high, low, &difference);
	for (uint32_t i = 0; i < difference.line_count; i++) {
		const struct gmt_job_place *place =
			gmt_job_place_of(judge->job->store, difference.lines[i].place);

		gmt_verdict_add_evidence(judge->verdict, finding,
			gmt_verdict_line(judge->verdict, "%s%s  %.200s:%" PRIu32 " in %.200s",
				difference.lines[i].bytes < 0 ? "-" : "+",
				gmt_text_size((uint64_t)(difference.lines[i].bytes < 0 ? -difference.lines[i].bytes
																	   : difference.lines[i].bytes))
					.text,
				gmt_job_text_of(judge->job->store, place->file), place->line,
				gmt_job_text_of(judge->job->store, place->function)));
	}
}

/* Judges the ranks of one role. */
static void judge_role(const struct judge *judge, uint32_t role)
{
	const struct gmt_job *job = judge->job;
	uint32_t high = GMT_JOB_NONE, low = GMT_JOB_NONE, count = 0;
	const char *name = gmt_job_text_of(job->store, role);
	struct gmt_finding *finding;
	struct gmt_verdict_check check = { .rule = GMT_RULE_SPREAD,
		.unit = "ratio",
		.device = GMT_DEVICE_UNKNOWN,
		.limit = judge->limits->max_spread,
		.measured = -1 };

	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];

		if (rank->launch.role != role || !rank->account)
			continue;
		count++;
		if (high == GMT_JOB_NONE || rank->peak_bytes > job->ranks.items[high].peak_bytes)
			high = i;
		if (low == GMT_JOB_NONE || rank->peak_bytes < job->ranks.items[low].peak_bytes)
			low = i;
	}
	if (count < 2) {
		check.state = GMT_CHECK_SKIPPED;
		check.subject = count ? subject_of(judge, high) : 0;
		check.text = "not judged: fewer than 2 ranks hold device memory";
		add_check(judge, &check, &finding);
		return;
	}

	uint64_t max_bytes = job->ranks.items[high].peak_bytes,
			 min_bytes = job->ranks.items[low].peak_bytes;
	check.subject = subject_of(judge, high);
	check.measured = (double)(max_bytes - min_bytes) / (double)min_bytes;
	check.state = check.measured > check.limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.text = gmt_verdict_line(judge->verdict,
		"peaks of %" PRIu32 " ranks%s%.60s: %s to %s (%s), %.3g %% apart, %.3g %% allowed", count,
		*name ? " of role " : "", name, gmt_text_size(min_bytes).text,
		gmt_text_size(max_bytes).text,
		gmt_verdict_file_name(&judge->verdict->subjects.items[check.subject]).text,
		100 * check.measured, 100 * check.limit);
	add_check(judge, &check, &finding);
	if (finding) {
		finding->bytes = max_bytes - min_bytes;
		explain(judge, finding, high, low);
	}
}

static void judge_spread(const struct judge *judge)
{
	const struct gmt_job *job = judge->job;

	for (uint32_t i = 0; i < job->ranks.count; i++) {
		uint32_t role = job->ranks.items[i].launch.role, before = 0;

		while (before < i && job->ranks.items[before].launch.role != role)
			before++;
		if (before == i)
			judge_role(judge, role);
	}
}

static void judge_missing(const struct judge *judge)
{
	const struct gmt_job *job = judge->job;
	uint64_t max_missing = judge->limits->max_missing_ranks;
	char list[LIST_BYTES] = "";
	struct gmt_finding *finding;
	struct gmt_verdict_check check = {
		.rule = GMT_RULE_MISSING_RANK,
		.unit = "count",
		.device = GMT_DEVICE_UNKNOWN,
		.subject = subject_of(judge, 0),
		.measured = (double)job->missing.count,
		.limit = (double)max_missing,
	};

	if (!job->has_ranks) {
		check.state = GMT_CHECK_SKIPPED;
		check.measured = -1;
		check.text = "not judged: no file has a rank";
		add_check(judge, &check, &finding);
		return;
	}
	gmt_job_list_ranks(job->missing.items, job->missing.count, list, sizeof(list));
	check.state = job->missing.count > max_missing ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.text = gmt_verdict_line(judge->verdict,
		"%zu of %zu ranks have no recording%s%s, %" PRIu64 " allowed", job->missing.count,
		job->missing.count + job->ranks.count, *list ? ": " : "", list, max_missing);
	add_check(judge, &check, &finding);
}

enum gmt_status gmt_gate_judge_job(struct gmt_verdict *verdict, const struct gmt_limits *limits,
	const struct gmt_gate_job *input, struct gmt_error *error)
{
	struct gmt_job job = { 0 };
	const struct judge judge = { verdict, limits, input, &job };
	enum gmt_status status = gmt_job_init(&job,
		&(struct gmt_job_input){
			.store = input->store, .summaries = input->summaries, .count = input->count },
		error);

	if (!status) {
		for (size_t i = 0; i < job.remarks.count; i++) {
			const char **note = gmt_vec_push(&verdict->notes);

			if (note)
				*note = gmt_verdict_line(verdict, "%s", job.remarks.items[i]);
		}
		if (limits->is_set[GMT_LIMIT_MAX_SPREAD])
			judge_spread(&judge);
		if (limits->is_set[GMT_LIMIT_MAX_MISSING_RANKS])
			judge_missing(&judge);
		if (verdict->out_of_memory)
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_job_fini(&job);
	return status;
}
