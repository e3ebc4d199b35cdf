/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_JOB_H
#define GMT_ANALYSIS_JOB_JOB_H

/*
 * Makes one job from the summaries of its processes. Finds its ranks, the ranks without a file, and
 * how the ranks differ. In the flow: process summaries -> job -> render/ranks. A pure function.
 *
 * Two ranks are compared by their steps if both have steps, otherwise by the clock. Each verdict
 * has its evidence. If a verdict is not possible, a field has the reason (`why_no_groups`,
 * `why_not`).
 */

#include "analysis/job/launcher.h"
#include "analysis/job/process_summary.h"
#include "analysis/job/spread.h"
#include "base/status.h"
#include "containers/vec.h"

#define GMT_JOB_NONE UINT32_MAX /* no rank, no group */

enum {
	GMT_JOB_LINES = 3,   /* most lines that explain a difference */
	GMT_JOB_GROUPS = 16, /* most groups of ranks */
	GMT_JOB_PATH = 4096, /* bytes of a path */
};

/* A line that one rank holds more of than another. */
struct gmt_job_line {
	uint32_t place;
	int64_t bytes; /* bytes at the peak of this rank, minus those of the other rank */
	uint64_t held_bytes;
};

/* How a rank differs from the rank that it is compared with. */
struct gmt_job_difference {
	uint32_t rank, other; /* indices in `ranks` */
	int64_t bytes;       /* of the peaks */
	struct gmt_job_line lines[GMT_JOB_LINES];
	uint32_t line_count;
};

/* The process that stands for a rank. */
struct gmt_job_rank {
	const struct gmt_process_summary *summary;
	struct gmt_launch launch;
	/*
	 * The account that is compared: of the job's layer, on the device with the highest peak; or
	 * NULL.
	 */
	const struct gmt_summarized_account *account;
	uint64_t peak_bytes; /* 0 without an account */
	uint64_t total_bytes; /* memory of the account's device; 0: not known */
	const struct gmt_summarized_use
		*use; /* of the account's device, at the peak or the end; or NULL */
	const struct gmt_summarized_finding *growth; /* the strongest finding of growth; or NULL */
	const struct gmt_summarized_refusal *failure; /* the first request that failed; or NULL */
	uint32_t group; /* index in `groups`; GMT_JOB_NONE: an outlier, or nothing was compared */
	uint32_t restarts; /* earlier processes of this rank */
	uint32_t helpers; /* other processes of this rank that ran at the same time */
	bool is_outlier;
};

/* Ranks with similar peaks, or of one role. */
struct gmt_job_group {
	uint32_t role; /* text; the empty text: the ranks have similar peaks */
	uint32_t count;
	struct gmt_spread peaks;
	uint32_t median_rank; /* index of the rank with the median peak */
};

struct gmt_job_host {
	uint32_t host; /* text */
	uint32_t ranks;
	uint64_t peak_bytes; /* sum of the peaks of its ranks */
};

/* A device that several processes used at the same time. */
struct gmt_job_shared {
	uint32_t host, uuid; /* texts */
	uint32_t processes;
	uint32_t rank; /* one of them */
	uint64_t peak_bytes; /* sum of their peaks */
};

/* The first failed request of the job, and what the other ranks held at that moment. */
struct gmt_job_failure {
	uint32_t rank;
	bool is_by_step; /* otherwise the moments are compared by the clock */
	struct gmt_spread others;
	const char *why_not; /* why `others` is empty; NULL: it is not empty */
};

struct gmt_job {
	struct gmt_job_store *store;
	uint32_t key; /* text: which job */
	uint8_t layer; /* whose peaks are compared */
	GMT_VEC(struct gmt_job_rank) ranks; /* by rank; without a rank by host and process */
	bool has_ranks;
	int64_t world_size; /* -1: not recorded, so the highest rank counts */
	GMT_VEC(uint32_t) missing; /* ranks */
	GMT_VEC(struct gmt_job_host) hosts; /* the highest sum first */
	GMT_VEC(struct gmt_job_shared) shared;
	/* Lines for the user: files that were left out, and contradictions. */
	GMT_VEC(const char *) remarks;

	struct gmt_spread peaks, reserved; /* of the ranks that have them */
	uint64_t sum_peak_bytes;
	struct gmt_job_group groups[GMT_JOB_GROUPS]; /* the largest first */
	uint32_t group_count;
	const char *why_no_groups; /* NULL: judged */
	/*
	 * Outliers, the largest difference first; then, per group, how it differs from the first one.
	 */
	GMT_VEC(struct gmt_job_difference) outliers;
	GMT_VEC(struct gmt_job_difference) balance; /* for each group after the first */
	const char *why_no_outliers;
	uint32_t grown, not_judged; /* ranks with a finding of growth; ranks without a verdict */
	const char *why_not_judged; /* of the first such rank */
	uint32_t first_grown; /* GMT_JOB_NONE: none */
	uint32_t failed; /* ranks with a failed request */
	struct gmt_job_failure first_failure; /* rank GMT_JOB_NONE: none */
	uint32_t first_killed; /* the killed rank that ended first; GMT_JOB_NONE: none */
	uint32_t ends[GMT_PROCESS_ENDS];
	uint32_t incomplete, without_steps;
	uint64_t least_steps, most_steps;
	bool clocks_differ; /* the clocks of hosts differ too much to compare times */
};

struct gmt_job_input {
	struct gmt_job_store *store;
	struct gmt_process_summary *summaries; /* must outlive the job */
	size_t count;
	const char *wanted; /* key of the job, or a part of it; NULL: the job with most processes */
};

/*
 * Makes the job. `ret_job` is zeroed; end it with gmt_job_fini. Fails with GMT_NO_MEMORY, or with
 * GMT_NO_FILE if no process is of the wanted job.
 */
enum gmt_status gmt_job_init(struct gmt_job *ret_job, const struct gmt_job_input *input,
	struct gmt_error *error);

/* Finds the lines that make the difference between two ranks. */
void gmt_job_explain(const struct gmt_job *job, uint32_t rank, uint32_t other,
	struct gmt_job_difference *ret_difference);

/* Writes ranks as "3, 5-7, 12" into `ret_text`; what does not fit becomes "...". */
void gmt_job_list_ranks(const uint32_t *ranks, size_t count, char *ret_text, size_t bytes);

/*
 * Writes the path of a rank's recording to `ret_path`, and returns it. If a summary was read, its
 * recording is expected in the same folder; it need not exist.
 */
const char *gmt_job_recording_path(const struct gmt_job *job, const struct gmt_job_rank *rank,
	char ret_path[GMT_JOB_PATH]);

void gmt_job_fini(struct gmt_job *job);

#endif
