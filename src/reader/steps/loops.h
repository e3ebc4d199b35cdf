/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_LOOPS_H
#define GMT_READER_STEPS_LOOPS_H

/*
 * Steps of a program that has no optimizer and sets no marks: passes of its outermost loop, told from the lines of the
 * recorded stacks.
 *
 * The rules. In a function that is called from one line, lines only go forward, except where a loop begins its next
 * pass, or the function is called again. So an allocation at an earlier line than the one before it begins a pass.
 * Passes that begin at the same or an earlier line than others contain them: a request contains its tokens. The
 * outermost frame counts whose passes are ten or more, hold at least half of all allocations, and go on in the second
 * half of the recording. The frames of modules do not count: a loop over layers is one call. An expression of several
 * lines goes back within a pass: where the stacks with which passes begin repeat, a period of them is one.
 *
 * A program may also make all that it needs in a loop. So a loop counts only if the program frees a quarter of its blocks.
 */

#include "reader/steps/timeline.h"

/*
 * Fills `ret_series`, and its name in timeline->name_text, from what lies before timeline->work_end. No steps: there is
 * no such loop. False when out of memory.
 */
bool gmt_loops_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces, struct gmt_timeline *timeline,
	struct gmt_step_series *ret_series);

#endif
