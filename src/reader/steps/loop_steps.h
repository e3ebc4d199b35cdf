/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_LOOP_STEPS_H
#define GMT_READER_STEPS_LOOP_STEPS_H

/*
 * Finds steps of a program without optimizer and marks: passes of its outermost loop, according to
 * the lines in the recorded stacks.
 *
 * The rules. In a function that is called from one line, lines only increase. Exceptions: a loop
 * begins its next pass, or the function is called again. So an allocation at an earlier line than
 * the previous allocation begins a pass.
 *
 * A loop contains another loop if its passes begin at the same line or an earlier line. For
 * example, a request contains its tokens. The outermost loop with 16 passes or more counts. If no
 * loop has that many, the outermost loop with ten passes or more counts. Its passes must hold at
 * least half of all allocations, and continue in the second half of the recording. Frames of
 * modules do not count: a loop over layers is one call.
 *
 * In an expression of several lines, lines decrease within a pass. If the stacks at which passes
 * begin repeat with a period, that period is one pass.
 *
 * A program may also allocate in a loop everything it needs. So a loop counts only if the program
 * frees a quarter of its blocks.
 */

#include "reader/steps/timeline.h"

/*
 * Fills `ret_series`, and its name in timeline->name_text. Uses only events before
 * timeline->work_end. The series stays empty if there is no such loop. Returns false when out of
 * memory.
 */
bool gmt_loop_steps_find(const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_timeline *timeline, struct gmt_step_series *ret_series);

#endif
