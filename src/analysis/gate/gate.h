/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_H
#define GMT_ANALYSIS_GATE_GATE_H

/*
 * Judges one recording by the rules of rules.def. Data flow: recording, replay, leaks,
 * out-of-memory tables -> gate -> verdict -> renderers.
 */

#include "analysis/gate/baseline.h"
#include "analysis/job/process_summary.h"
#include "analysis/recording/warnings.h"
#include "analysis/leaks/leaks.h"
#include "analysis/gate/limits.h"
#include "analysis/oom/ooms.h"
#include "analysis/compare/site_key.h"
#include "analysis/history/site_table.h"
#include "analysis/gate/suppressions.h"
#include "analysis/gate/verdict.h"
#include "reader/steps/timeline.h"

/* The user's demands. */
struct gmt_gate {
	const struct gmt_limits *limits;
	struct gmt_suppressions *suppressions; /* the gate counts their use */
	const struct gmt_baseline *baseline;   /* NULL: the gate does not look for regressions */
	/* The gate adds what it finds, unsorted. NULL: it adds nothing. */
	struct gmt_baseline *new_baseline;
};

/* The analyses of one recording. */
struct gmt_gate_input {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_leaks *leaks;
	const struct gmt_ooms *ooms;
	const struct gmt_warnings *warnings;
	const struct gmt_site_keys *keys;
	struct gmt_sites *sites; /* the gate may reorder the rows */
};

/* Adds the recording to `verdict`. Fails only for lack of memory. */
enum gmt_status gmt_gate_judge(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_gate_input *input, struct gmt_error *error);

/*
 * Adds a summary to `verdict`. Rules that a summary cannot answer are skipped, with the reason.
 * Fails only for lack of memory.
 */
enum gmt_status gmt_gate_judge_summary(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_job_store *store, const struct gmt_process_summary *summary,
	struct gmt_error *error);

/*
 * Judges the job that the files are of, by the rules about all its ranks. Call it after all files,
 * if gmt_gate_judges_jobs. A finding is reported with the file of a rank: `subjects` has the number
 * of the subject for each of the `summaries`. Fails only for lack of memory.
 */
struct gmt_gate_job {
	struct gmt_job_store *store;
	struct gmt_process_summary *summaries;
	const uint32_t *subjects;
	size_t count;
};

enum gmt_status gmt_gate_judge_job(struct gmt_verdict *verdict, const struct gmt_limits *limits,
	const struct gmt_gate_job *input, struct gmt_error *error);

static inline bool gmt_gate_judges_jobs(const struct gmt_limits *limits)
{
	return limits->is_set[GMT_LIMIT_MAX_SPREAD] || limits->is_set[GMT_LIMIT_MAX_MISSING_RANKS];
}

/* Adds a note for each layer that the baseline has but no file has. Call it after all files. */
void gmt_gate_note_missing_layers(struct gmt_verdict *verdict, const struct gmt_baseline *baseline);

#endif
