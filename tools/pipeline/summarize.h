/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_SUMMARIZE_H
#define GMT_TOOLS_PIPELINE_SUMMARIZE_H

/* Makes the summary of one recording: in a store, or as bytes (analysis/job/summary_encode.h). */

#include "analysis/job/summary_encode.h"
#include "reader/stacks/traces.h"
#include "tools/pipeline/pipeline.h"

/*
 * Loads the recording, runs the analyses and encodes its summary into `ret_bytes`, which the caller
 * ends with gmt_vec_fini. Returns 0, or an exit code after an error message.
 */
int gmt_summarize_recording(const char *path, const struct gmt_traces_options *options,
	struct gmt_summary_bytes *ret_bytes);

/*
 * Makes the summary of a recording in the store, from a pipeline with wants_time_curves. Fails only
 * when out of memory. `ret_summary` (zeroed) borrows the recording's path.
 */
enum gmt_status gmt_summarize_pipeline(const struct gmt_pipeline *pipeline,
	struct gmt_job_store *store, struct gmt_process_summary *ret_summary, struct gmt_error *error);

#endif
