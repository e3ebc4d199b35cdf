/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_DIFF_JOBS_H
#define GMT_TOOLS_REPORT_DIFF_JOBS_H

/* `diff` of two folders: compares the jobs whose files are in the folders, rank by rank. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/stacks/traces.h"

struct gmt_diff_jobs {
	const char *folders[2]; /* the base and the new job */
	const struct gmt_traces_options *traces;
	uint64_t limit;           /* rows; UINT64_MAX: not given */
	uint64_t threshold_bytes; /* smaller differences are hidden */
	bool json, color;
};

/*
 * Reads both folders and writes the comparison to `file`. Prints an error or a hint for each file
 * that cannot be read. Returns 0, or an exit code after an error message. `ret_differs`: the
 * difference of a rank reaches the threshold, or a rank is in one job only. `ret_incomplete`: a
 * recording is incomplete.
 */
int gmt_diff_jobs(const struct gmt_diff_jobs *jobs, FILE *file, bool *ret_differs,
	bool *ret_incomplete);

#endif
