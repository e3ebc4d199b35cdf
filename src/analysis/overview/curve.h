/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OVERVIEW_CURVE_H
#define GMT_ANALYSIS_OVERVIEW_CURVE_H

/*
 * The curve of each account: what it held, from its first block to its last change, in a few
 * maxima. One maximum stands for a number of changes (allocations and frees of the account), so a
 * program that waits for a long time is not a flat line. Also notes which stack made each peak.
 * Data flow: replay -> curve -> overview.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/replay/replay.h"

/* Most maxima in a curve. A full curve is halved: each two neighbours become their maximum. */
enum { GMT_CURVE_POINTS = 256, GMT_CURVE_ACCOUNTS = 64 };

struct gmt_curve {
	uint64_t max_bytes[GMT_CURVE_POINTS];
	size_t count;              /* Points that are in use. The last one may be incomplete. */
	uint64_t changes_per_point;
	uint64_t changes;          /* In the last point. */
	uint64_t peak_number;            /* The account's peaks so far. */
	uint32_t peak_trace_plus_1; /* Trace that made the last peak, + 1. 0: it was compacted. */
};

struct gmt_curves {
	struct gmt_replay_observer observer; /* Registered with the replay. */
	struct gmt_curve accounts[GMT_CURVE_ACCOUNTS]; /* By index in the accounting. */
};

/* Prepares the observer. `curves` (zeroed) must not move while it observes. */
void gmt_curves_init(struct gmt_curves *curves);

/*
 * Draws `count` numbers from a curve: each is the maximum of its share of the curve. Fills in fewer
 * if the curve has fewer points. Returns how many.
 */
size_t gmt_curve_draw(const uint64_t *values, size_t value_count, uint64_t *ret_maxima,
	size_t count);

#endif
