/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_SUMMARY_H
#define GMT_ANALYSIS_TABLES_STACK_SUMMARY_H

/*
 * Reduces a merged stack to a few lines for the user. Each frame of the user's own code is one
 * line. Each run of a framework's native frames, and each run of Python frames of packages, is one
 * line too: one frame stands for the run.
 */

#include <stdint.h>

#include "containers/vec.h"
#include "reader/stacks/traces.h"

struct gmt_stack_summary_line {
	uint32_t frame;  /* the frame that is shown: index in the stack */
	uint32_t hidden; /* number of other frames that it stands for */
};

struct gmt_stack_summary {
	GMT_VEC(struct gmt_stack_summary_line) lines; /* leaf first */
};

/*
 * Replaces the contents of `summary` with the summary of `stack`. The caller ends it with
 * gmt_stack_summary_fini. False when out of memory.
 */
bool gmt_stack_summary_make(struct gmt_stack_summary *summary, const struct gmt_traces *traces,
	uint32_t stack);

void gmt_stack_summary_fini(struct gmt_stack_summary *summary);

#endif
