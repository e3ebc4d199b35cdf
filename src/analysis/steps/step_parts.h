/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_STEPS_STEP_PARTS_H
#define GMT_ANALYSIS_STEPS_STEP_PARTS_H

/*
 * Shows what a step does, part by part: what it allocates, what of that still lives when the step
 * ends, and what is kept for good. Data flow: replay -> step_parts, and with history -> finish ->
 * renderers.
 *
 * The steps are those of the first series. The first step is left out, because it contains the
 * program's setup. Evaluation and epochs are separate parts. Evaluation has the sites that allocate
 * mostly in steps of the second series, and do so in modules or in most of these steps. An epoch
 * has the lines outside of the model that allocate in fewer than a quarter of the steps.
 */

#include "analysis/history/history.h"

/* The parts of a step (enum gmt_part), followed by: */
enum {
	GMT_STEP_PARTS_EVALUATION = GMT_PARTS,
	GMT_STEP_PARTS_EPOCH,
	GMT_STEP_PARTS,
};

struct gmt_step_parts_row {
	/*
	 * How often the part occurs: steps, calls of evaluation, or steps in which an epoch allocates.
	 * 0: the part allocates nothing.
	 */
	uint64_t times;
	uint64_t made_bytes;    /* per occurrence */
	/* Per occurrence: alive at the end of the step, but not kept for good. */
	uint64_t carried_bytes;
	/* Per occurrence: kept for good. Below 0: unknown, because there are too few steps. */
	double kept_bytes;
	uint64_t peak_bytes;    /* most bytes that the account held at an allocation of the part */
};

/* A single site. */
struct gmt_step_parts_site {
	/*
	 * In the steps after the first step: allocated; allocated and not freed in the same step; most
	 * that the account held at an allocation.
	 */
	uint64_t made_bytes, left_bytes, peak_bytes;
	uint64_t allocs, evaluation_allocs;
	uint32_t steps;       /* number of steps after the first step in which it allocated */
	uint32_t last_plus_1; /* last of these steps, + 1; 0: no such step */
	uint32_t calls, last_call_plus_1; /* the same for the steps of the second series */
};

struct gmt_step_parts {
	struct gmt_replay_observer observer; /* registered with the replay */
	const struct gmt_timeline *timeline;
	const struct gmt_traces *traces;
	uint32_t cursors[GMT_TIMELINE_SERIES]; /* see gmt_series_find_next */
	GMT_VEC(struct gmt_step_parts_site) sites;
	/* GMT_STEP_PARTS rows for each account of the replay. */
	GMT_VEC(struct gmt_step_parts_row) rows;
};

/*
 * Prepares `parts`, which must be zeroed and must not move. All arguments must live until
 * gmt_step_parts_finish.
 */
void gmt_step_parts_init(struct gmt_step_parts *parts, const struct gmt_timeline *timeline,
	const struct gmt_traces *traces);

/* Makes the rows. `history` must have observed the same replay. False when out of memory. */
bool gmt_step_parts_finish(struct gmt_step_parts *parts, const struct gmt_replay *replay,
	const struct gmt_history *history);

/* Returns "forward", ... "evaluation", "epoch". */
const char *gmt_step_parts_name(unsigned part);

void gmt_step_parts_fini(struct gmt_step_parts *parts);

#endif
