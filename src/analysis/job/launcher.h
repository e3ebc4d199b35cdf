/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_LAUNCHER_H
#define GMT_ANALYSIS_JOB_LAUNCHER_H

/* Finds the job and the rank of a process from the variables of its launcher. Pure functions. */

#include "analysis/job/process_summary.h"

struct gmt_launch {
	uint32_t key; /* text: the job, e.g. "slurm job 4711.0"; equal for processes of one job */
	int32_t rank, local_rank; /* -1: none */
	int64_t world_size; /* number of ranks; -1: not recorded */
	int64_t node; /* number of the node; -1: not recorded */
	uint32_t attempt; /* number of restarts before this process */
	uint32_t role; /* text; the empty text: none */
};

/* Makes the launch of a summary. Returns false when out of memory. */
bool gmt_launch_init(struct gmt_job_store *store, const struct gmt_process_summary *summary,
	struct gmt_launch *ret_launch);

#endif
