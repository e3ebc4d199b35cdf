/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_INFERENCE_STEPS_H
#define GMT_READER_STEPS_INFERENCE_STEPS_H

/*
 * Steps of evaluation and inference: outermost calls of a module, told from the recorded stacks.
 *
 * The rules. A place in the program that calls a module (the stack outside of the outermost call) is
 * training when it shows up in at least half of the steps of `main`, or mostly is the last one before
 * a backward pass; else evaluation. Where a thread
 * allocates outside of modules between two calls, they are two. Calls that follow each other directly
 * from one place are told by the sequence of their allocations: it repeats, and its shortest period
 * is one call (so a module that does nothing but the same thing n times counts n calls; it does not
 * where other allocations lie between calls and its sequence is not a whole number of periods). Of
 * several places that take turns, the one with most calls counts, as with optimizers.
 */

#include "reader/steps/timeline.h"

/*
 * Fills `ret_series`. `main` are the program's other steps, NULL when there are none; nothing behind
 * the stamp `work_end` counts. False when out of memory.
 */
bool gmt_forward_steps(const struct gmt_snapshot *snapshot, const struct gmt_traces *traces,
	const struct gmt_step_series *main, uint64_t work_end, struct gmt_step_series *ret_series);

#endif
