/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_SUMMARIZE_H
#define GMT_TOOLS_PIPELINE_SUMMARIZE_H

/* The summary of one recording, as bytes (analysis/job/summary_encode.h). */

#include "analysis/job/summary_encode.h"
#include "reader/stacks/traces.h"

/*
 * Loads the recording, runs the analyses and encodes its summary into `ret_bytes`, which the caller
 * ends with gmt_vec_fini. Returns 0, or an exit code after an error message.
 */
int gmt_summarize_recording(const char *path, const struct gmt_traces_options *options,
	struct gmt_summary_bytes *ret_bytes);

#endif
