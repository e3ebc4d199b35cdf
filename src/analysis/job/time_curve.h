/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_TIME_CURVE_H
#define GMT_ANALYSIS_JOB_TIME_CURVE_H

/*
 * Records what each account held over time, in at most GMT_TIME_CURVE_POINTS parts of equal length.
 * Each part has the most that the account held, and what it held at the end. Parts before the first
 * kept event of a compacted recording are not known. Needs no steps, so it can
 * be compared between processes by the clock. Data flow: replay -> time curve -> summarize.
 */

#include "reader/replay/replay.h"

enum { GMT_TIME_CURVE_POINTS = 64, GMT_TIME_CURVE_ACCOUNTS = 64 };

struct gmt_time_curve {
	uint64_t peak_bytes[GMT_TIME_CURVE_POINTS];
	uint64_t end_bytes[GMT_TIME_CURVE_POINTS];
	size_t count; /* parts so far; the last one goes on */
	uint64_t begin_bytes; /* held before the first event; 0 unless earlier events were compacted */
};

struct gmt_time_curves {
	struct gmt_replay_observer observer; /* registered with the replay */
	uint64_t first_stamp; /* the begin of the first part */
	uint64_t ticks_per_point; /* the length of a part, the same for all accounts */
	bool is_compacted; /* the first events were compacted: the first parts are not known */
	size_t first_known; /* the first part of which all events are known */
	struct gmt_time_curve accounts[GMT_TIME_CURVE_ACCOUNTS]; /* by index in the accounting */
};

/* Prepares the observer. `curves` (zeroed) must not move while it observes. */
void gmt_time_curves_init(struct gmt_time_curves *curves, uint64_t first_stamp,
	uint64_t last_stamp);

#endif
