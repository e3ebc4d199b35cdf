/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_CAPTURES_H
#define GMT_ANALYSIS_HISTORY_HISTORY_CAPTURES_H

/* The moments whose live blocks a history stores. Part of analysis/history. */

#include "analysis/history/history.h"

/* Selects the moments that lie within `until_ns`. */
void gmt_history_choose_moments(struct gmt_history *history, const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, uint64_t until_ns);

/* Stores the blocks that live now. False when out of memory. */
bool gmt_history_capture_now(struct gmt_history_capture *capture,
	const struct gmt_accounting *accounting);

#endif
