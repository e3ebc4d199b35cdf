/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_COMPACTED_H
#define GMT_ANALYSIS_HISTORY_HISTORY_COMPACTED_H

/* What sites held at the ends of steps that were folded, as the fold kept it. Part of analysis/history. */

#include "analysis/history/history_steps.h"

/* Sets stride and lacks_past of a series before the replay. */
void gmt_history_plan_past(struct gmt_history_series *ret_series, const struct gmt_snapshot *snapshot,
	const struct gmt_step_series *steps);

/*
 * The survivors are replayed, and `follower` has gone on up to the fold: in place of what they seemed to hold at the ends of
 * steps comes what the fold kept. `index` is the series' number in `history`. False when out of memory.
 */
bool gmt_history_set_past(struct gmt_history_follower *follower, struct gmt_history *history, size_t index,
	const struct gmt_snapshot *snapshot, const struct gmt_replay *replay);

#endif
