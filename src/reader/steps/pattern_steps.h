/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PATTERN_STEPS_H
#define GMT_READER_STEPS_PATTERN_STEPS_H

/*
 * Finds steps of a program without any other information: repeating allocations, or a fixed number
 * of allocations for each step.
 *
 * The rules. If the stacks of the allocations repeat with a period, a period is a step. It must
 * repeat ten times or more, up to the end. Other allocations may come between periods from time to
 * time. Then nine tenths of the allocations must belong to periods.
 *
 * Otherwise, a step is 1,000 allocations. It is fewer if 1,000 would give fewer than 64 steps, but
 * at least 50.
 *
 * As with loops (loop_steps.h), the program must free at least a quarter of its blocks. A program
 * that only allocates what it needs has no steps.
 */

#include "reader/steps/timeline.h"

/*
 * Fills `ret_series`, the same way as gmt_loop_steps_find. Tries the pattern, then the fixed
 * number. Sets *ret_why to the reason if there are no steps; leaves it unchanged if there are no
 * allocations. Returns false when out of memory.
 */
bool gmt_pattern_steps_find(const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_timeline *timeline, struct gmt_step_series *ret_series, const char **ret_why);

#endif
