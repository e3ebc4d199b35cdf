/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_JOB_MAKE_H
#define GMT_ANALYSIS_JOB_JOB_MAKE_H

/*
 * The stages by which job.c makes a job, in this order. Each uses the fields that the earlier
 * stages set. Functions of type bool return false when out of memory.
 */

#include "analysis/job/job.h"

/* Chooses the job's processes and gives each rank one. Finds missing ranks. */
enum gmt_status gmt_job_choose(struct gmt_job *job, const struct gmt_job_input *input,
	struct gmt_error *error);

/* Compares the peaks: spread, groups, outliers, balance. */
bool gmt_job_compare(struct gmt_job *job);

/*
 * Returns the number of lines that held different amounts in two ranks at the peak. Differences of
 * 2 % or less, and of 64 KiB or less, do not count.
 */
uint32_t gmt_job_count_differences(const struct gmt_job *job, uint32_t a, uint32_t b);

/* Adds up hosts and shared devices. */
bool gmt_job_find_hosts(struct gmt_job *job);

/* Finds growth, failed requests and ends. */
bool gmt_job_find_events(struct gmt_job *job);

/* Adds a remark. */
__attribute__((format(printf, 2, 3))) bool gmt_job_remark(struct gmt_job *job, const char *format,
	...);

static inline const char *gmt_job_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
