/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_COMPACTED_H
#define GMT_ANALYSIS_HISTORY_HISTORY_COMPACTED_H

/*
 * Reads from the compacted prefix what sites held at the ends of compacted steps. Part of
 * analysis/history.
 */

#include "analysis/history/history_steps.h"

/* Sets stride and lacks_compacted_samples of a series before the replay. */
void gmt_history_plan_compacted(struct gmt_history_series *ret_series,
	const struct gmt_recording *recording, const struct gmt_step_series *steps);

/*
 * Replaces the samples of compacted steps by those of the compacted prefix. Before, the samples
 * hold only the blocks that survived compaction. Called when the survivors are replayed and
 * `follower` has reached the end of the prefix. `index` is the number of the series in `history`.
 * False when out of memory.
 */
bool gmt_history_set_compacted(struct gmt_history_follower *follower, struct gmt_history *history,
	size_t index, const struct gmt_recording *recording, const struct gmt_replay *replay);

#endif
