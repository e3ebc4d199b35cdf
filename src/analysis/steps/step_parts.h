/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_STEPS_STEP_PARTS_H
#define GMT_ANALYSIS_STEPS_STEP_PARTS_H

/*
 * What a step does, part by part: what it makes, what of that is still there when it ends, and what stays for good. In
 * the flow: replay -> step_parts, and with history -> finish -> renderers.
 *
 * The steps are those of the first series, without the first one, which holds what the program set up. Evaluation and
 * epochs are parts of their own: what is made in steps of the second series, in modules or in most of these steps, and
 * what lines outside of the model make in fewer than a quarter of the steps.
 */

#include "analysis/history/history.h"

/* The parts of a step (enum gmt_part), and: */
enum {
	GMT_STEP_PARTS_EVALUATION = GMT_PIPELINE,
	GMT_STEP_PARTS_EPOCH,
	GMT_STEP_PARTS,
};

struct gmt_step_parts_row {
	uint64_t times; /* how often: steps, calls in evaluation, or steps in which an epoch does something; 0: it makes nothing */
	uint64_t made_bytes;    /* each time */
	uint64_t carried_bytes; /* each time: there at the end of the step, but not for good */
	double kept_bytes;      /* each time: stays for good; below 0: there are too few steps to say so */
	uint64_t peak_bytes;    /* most that the account held when something was made */
};

/* What one site does. */
struct gmt_step_parts_site {
	uint64_t made_bytes, left_bytes, peak_bytes; /* in steps behind the first one */
	uint64_t allocs, evaluation_allocs;
	uint32_t steps;       /* in which it made something */
	uint32_t last_plus_1; /* of these; 0: none */
	uint32_t calls, last_call_plus_1; /* likewise, of evaluation's */
};

struct gmt_step_parts {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_timeline *timeline;
	const struct gmt_traces *traces;
	uint32_t cursors[GMT_TIMELINE_SERIES]; /* see gmt_series_find_next */
	GMT_VEC(struct gmt_step_parts_site) sites;
	GMT_VEC(struct gmt_step_parts_row) rows; /* GMT_STEP_PARTS for each account of the replay's books */
};

/* `parts` is zeroed, and stays where it is. All that is given must live until gmt_step_parts_finish. */
void gmt_step_parts_init(struct gmt_step_parts *parts, const struct gmt_timeline *timeline, const struct gmt_traces *traces);

/* Makes the rows; `history` observed the same replay. False when out of memory. */
bool gmt_step_parts_finish(struct gmt_step_parts *parts, const struct gmt_replay *replay, const struct gmt_history *history);

/* "forward", ... "evaluation", "epoch". */
const char *gmt_step_parts_name(unsigned part);

void gmt_step_parts_fini(struct gmt_step_parts *parts);

#endif
