/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_JOB_DIFF_H
#define GMT_RENDER_JOB_DIFF_H

/*
 * The comparison of two jobs: as text, whose form may change, and as JSON for programs
 * (docs/diff.md, schema gpumemtrace.diff-jobs/1).
 */

#include "analysis/job/job_diff.h"
#include "render/json.h"

struct gmt_job_diff_view {
	const struct gmt_job_diff *diff;
	const char *paths[GMT_JOB_DIFF_SIDES]; /* as the user named them */
	uint64_t limit;           /* text: rows of ranks; UINT64_MAX: 20 */
	uint64_t threshold_bytes; /* text: ranks with a smaller difference have no row */
	bool color;
};

/* Returns false if memory is exhausted. */
bool gmt_job_diff_text(const struct gmt_job_diff_view *view, FILE *file);

/* Writes one complete object, with all ranks. */
void gmt_job_diff_json(const struct gmt_job_diff_view *view, struct gmt_json *json);

#endif
