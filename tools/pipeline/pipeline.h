/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_PIPELINE_H
#define GMT_TOOLS_PIPELINE_PIPELINE_H

/* Loads one recording and runs all analyses of it, in the order of their dependencies. */

#include "analysis/recording/warnings.h"
#include "analysis/allocator/custom_heaps.h"
#include "analysis/history/history.h"
#include "analysis/history/phase_memory.h"
#include "analysis/job/time_curve.h"
#include "analysis/leaks/leaks.h"
#include "analysis/ledger/ledger.h"
#include "analysis/oom/ooms.h"
#include "analysis/overview/overview.h"
#include "analysis/page/page.h"
#include "analysis/history/site_table.h"
#include "analysis/steps/step_parts.h"
#include "analysis/tables/memory_summary.h"
#include "analysis/allocator/allocator_state.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/steps/timeline.h"
#include "reader/stacks/traces.h"
#include "tools/options/moment.h"

struct gmt_pipeline {
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_history history;
	struct gmt_ooms ooms;
	struct gmt_ledger_watch ledger_watch;
	struct gmt_ledger ledger;
	struct gmt_replay replay;
	struct gmt_allocator_state allocator_state; /* computed only if wants_report_details is set */
	struct gmt_step_parts step_parts; /* computed only if wants_report_details is set */
	struct gmt_phase_memory phase_memory; /* computed only if wants_report_details is set */
	struct gmt_curves curves; /* computed only if wants_report_details is set */
	struct gmt_overview overview; /* computed only if wants_report_details is set */
	struct gmt_time_curves time_curves; /* computed only if wants_time_curves is set */
	struct gmt_page page; /* computed only if wants_page is set */
	struct gmt_memory_summary summary;
	struct gmt_sites sites;
	struct gmt_custom_heaps heaps;
	struct gmt_leaks leaks;
	struct gmt_warnings warnings;
	uint64_t until_ns; /* end of the replay; GMT_REPLAY_TO_END: the whole recording */
};

struct gmt_pipeline_options {
	struct gmt_traces_options traces;
	struct gmt_moment until; /* the end of the replay */
	struct gmt_leaks_options leaks;
	bool wants_report_details; /* compute the data for gmt_allocator_state_results_compute */
	bool wants_time_curves; /* compute the data for gmt_process_summary_make */
	bool wants_page; /* compute the data of the HTML report; needs wants_report_details */
	const struct gmt_replay_observer *observer; /* one more observer of the replay; may be NULL */
};

/* The default options of the leak analysis. */
extern const struct gmt_leaks_options gmt_pipeline_default_leaks;

/*
 * Loads `path` and runs all analyses. Returns 0, or an exit code after an error message. The caller
 * ends `ret_pipeline` (zeroed) with gmt_pipeline_fini in both cases.
 */
int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options,
	struct gmt_pipeline *ret_pipeline);

/*
 * The two halves of gmt_pipeline_load, for a caller that sets pipeline->recording itself.
 * gmt_pipeline_name finds stacks, steps and phases. Then gmt_pipeline_analyze runs all analyses.
 * They print nothing. After a failure, the caller may only call gmt_pipeline_fini.
 */
enum gmt_status gmt_pipeline_name(struct gmt_pipeline *pipeline,
	const struct gmt_pipeline_options *options, struct gmt_error *error);
enum gmt_status gmt_pipeline_analyze(struct gmt_pipeline *pipeline,
	const struct gmt_pipeline_options *options, struct gmt_error *error);

void gmt_pipeline_fini(struct gmt_pipeline *pipeline);

#endif
