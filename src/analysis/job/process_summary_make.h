/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_PROCESS_SUMMARY_MAKE_H
#define GMT_ANALYSIS_JOB_PROCESS_SUMMARY_MAKE_H

/* Makes the summary of a process from the analyses of its recording. */

#include "analysis/history/history.h"
#include "analysis/history/site_table.h"
#include "analysis/job/process_summary.h"
#include "analysis/job/time_curve.h"
#include "analysis/leaks/leaks.h"
#include "analysis/ledger/ledger.h"
#include "analysis/oom/ooms.h"
#include "base/status.h"

/* All must be from one replay of the whole recording. */
struct gmt_process_summary_input {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_sites *sites;
	const struct gmt_ooms *ooms;
	const struct gmt_ledger *ledger;
	const struct gmt_leaks *leaks;
	const struct gmt_time_curves *curves;
};

/*
 * Makes the summary in the store. The summary borrows only the recording's path. `ret_summary` is
 * zeroed. Fails only for lack of memory.
 */
enum gmt_status gmt_process_summary_make(struct gmt_job_store *store,
	const struct gmt_process_summary_input *input, struct gmt_process_summary *ret_summary,
	struct gmt_error *error);

/*
 * Makes the part of a summary that the recording states directly: the process, its devices and the
 * variables of its launcher. No replay is needed. `ret_summary` is zeroed, and borrows the
 * recording's path. Fails only for lack of memory.
 */
enum gmt_status gmt_process_summary_make_head(struct gmt_job_store *store,
	const struct gmt_recording *recording, struct gmt_process_summary *ret_summary,
	struct gmt_error *error);

#endif
