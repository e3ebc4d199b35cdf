/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_SUMMARY_H
#define GMT_ANALYSIS_TABLES_STACK_SUMMARY_H

/*
 * A merged stack in the few lines that a person reads: the user's own frames each by itself, every run
 * of a framework's native frames and every run of packages' Python frames as one that stands for it.
 */

#include <stdint.h>

#include "containers/vec.h"
#include "reader/stacks/traces.h"

struct gmt_stack_summary_line {
	uint32_t frame;  /* the frame that is shown: index in the stack */
	uint32_t hidden; /* frames that it stands for, beside itself */
};

struct gmt_stack_summary {
	GMT_VEC(struct gmt_stack_summary_line) lines; /* leaf first */
};

/* Fills `outline` anew with `stack`; the caller ends it with gmt_stack_summary_fini. False: out of memory. */
bool gmt_stack_summary_make(struct gmt_stack_summary *summary, const struct gmt_traces *traces, uint32_t stack);

void gmt_stack_summary_fini(struct gmt_stack_summary *summary);

#endif
