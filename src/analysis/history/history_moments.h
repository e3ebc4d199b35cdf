/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_MOMENTS_H
#define GMT_ANALYSIS_HISTORY_HISTORY_MOMENTS_H

/*
 * Captures the live blocks at a few moments of a replay, for example the end of the last step. Part
 * of analysis/history.
 */

#include "analysis/history/history.h"

/* Selects the moments to capture, from those that are not later than `until_ns`. */
void gmt_history_choose_moments(struct gmt_history *history, const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, uint64_t until_ns);

/* Stores the blocks that are live now. Returns false when out of memory. */
bool gmt_history_capture_moment(struct gmt_history_capture *capture,
	const struct gmt_accounting *accounting);

#endif
