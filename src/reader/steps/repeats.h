/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_REPEATS_H
#define GMT_READER_STEPS_REPEATS_H

/*
 * Steps of a program of which nothing else is known: what its allocations repeat, or so many allocations each.
 *
 * The rules. Where the stacks of the allocations repeat with a period, ten times or more and up to the end, a period is
 * a step. Something else may come between now and then: then nine tenths of the allocations must be of the period. Else a step is 1,000 allocations, or fewer where that would be fewer than 64 steps, but never below 50. As
 * with loops (loops.h), at least a quarter of the blocks must be freed: a program that only makes what it needs has no
 * steps.
 */

#include "reader/steps/timeline.h"

/*
 * As gmt_loops_steps does; both sources are tried. *ret_why: why there are none; unchanged where there are no
 * allocations. False when out of memory.
 */
bool gmt_repeats_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces, struct gmt_timeline *timeline,
	struct gmt_step_series *ret_series, const char **ret_why);

/* Whether an event counts for steps of loops and repeats: PyTorch's blocks; of programs without any, all that was got. */
bool gmt_repeats_counts(const struct gmt_snapshot *snapshot, const struct gmt_snapshot_event *event, uint64_t work_end);

#endif
