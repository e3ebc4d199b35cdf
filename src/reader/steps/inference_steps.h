/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_INFERENCE_STEPS_H
#define GMT_READER_STEPS_INFERENCE_STEPS_H

/*
 * Finds steps of evaluation and inference: outermost calls of a module, according to the recorded
 * stacks.
 *
 * The rules. A context is a place in the program that calls a module (the stack outside of the
 * outermost call). A context is training in two cases: it occurs in at least half of the steps of
 * `main`, or it is mostly the last context before a backward pass. Otherwise it is evaluation.
 *
 * A thread may allocate outside of modules between two calls. Then they are separate calls. Other
 * calls follow each other directly from one context. Their allocations repeat, and one period of
 * this sequence is one call. So a module that does the same work n times counts as n calls.
 * Exception: if other allocations separate the calls of a context, a sequence between two of these
 * allocations is one call, unless it consists of whole periods.
 *
 * If several contexts take turns, the context with the most calls counts, as with optimizers.
 */

#include "reader/steps/timeline.h"

/*
 * Fills `ret_series`. `main` holds the program's other steps; NULL if there are no such steps.
 * Ignores events after the stamp `work_end`. Returns false when out of memory.
 */
bool gmt_inference_steps_find(const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_step_series *main, uint64_t work_end,
	struct gmt_step_series *ret_series);

#endif
