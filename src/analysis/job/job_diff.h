/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_JOB_DIFF_H
#define GMT_ANALYSIS_JOB_JOB_DIFF_H

/*
 * Compares two jobs, rank by rank: the peak of each rank, and the functions that explain the
 * difference. Functions are compared, not lines, because a change of the program moves lines. The
 * jobs may be in two stores. A pure function.
 */

#include "analysis/job/job.h"

/* The sides, in the order of the operands of `diff`. */
enum { GMT_JOB_DIFF_BASE, GMT_JOB_DIFF_NEW, GMT_JOB_DIFF_SIDES };

/* What a function held at the peak of a rank, on both sides. */
struct gmt_job_diff_line {
	const char *file, *function; /* borrowed from the stores; may be empty */
	uint64_t bytes[GMT_JOB_DIFF_SIDES];
};

/* A rank of both jobs. */
struct gmt_job_diff_rank {
	uint32_t index[GMT_JOB_DIFF_SIDES]; /* in the job's ranks */
	int64_t bytes;                      /* new peak minus base peak */
	/* functions that changed in the direction of `bytes`, the largest change first */
	struct gmt_job_diff_line lines[GMT_JOB_LINES];
	uint32_t line_count;
};

struct gmt_job_diff {
	const struct gmt_job *jobs[GMT_JOB_DIFF_SIDES];
	GMT_VEC(struct gmt_job_diff_rank) ranks; /* the largest difference first, then by rank */
	GMT_VEC(uint32_t) only[GMT_JOB_DIFF_SIDES]; /* ranks that only this side has */
	bool has_other_layer; /* the peaks are of different layers */
};

/*
 * Compares the jobs, which must outlive the result. Ranks are matched by number; without ranks, by
 * the order of host and process. Returns false when out of memory. `ret_diff` is zeroed; end it
 * with gmt_job_diff_fini.
 */
bool gmt_job_diff_init(struct gmt_job_diff *ret_diff, const struct gmt_job *base,
	const struct gmt_job *new);

void gmt_job_diff_fini(struct gmt_job_diff *diff);

#endif
