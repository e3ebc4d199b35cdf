/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OVERVIEW_OVERVIEW_H
#define GMT_ANALYSIS_OVERVIEW_OVERVIEW_H

/*
 * The answer to the first questions about a recording: how high was the peak, when, and who held
 * it. It is about one account, the one that the user most likely asks about. A pure function of the
 * results of the other analyses.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/overview/curve.h"
#include "analysis/tables/memory_summary.h"
#include "analysis/tables/tables.h"
#include "reader/steps/timeline.h"

enum { GMT_OVERVIEW_LINES = 5, GMT_OVERVIEW_CURVE = 256 };

/* A line of the user's code that held memory at the peak. */
struct gmt_overview_line {
	uint32_t place_plus_1; /* Id of the frame, + 1. 0: no stack was recorded. */
	uint64_t bytes, blocks;
	char operator[48]; /* Of PyTorch, in the stack that held most: "linear". "": none. */
};

struct gmt_overview {
	/* NULL: nothing was allocated. The other fields are then zero. */
	const struct gmt_account *account;
	const struct gmt_device *device; /* NULL: not recorded, or the account is host memory. */
	uint64_t peak_time_ns;
	bool has_step; /* The peak was in step `step` of the first series. */
	uint32_t step;
	bool has_part; /* The peak was in this part of a step. */
	enum gmt_part part;
	const char *phase; /* Innermost phase around the peak. NULL: none. */
	struct gmt_overview_line lines[GMT_OVERVIEW_LINES]; /* The largest first. */
	size_t line_count;
	/*
	 * The curve of the account: by step (of the first series) the peak of each, if there are
	 * several steps. Else the maxima of changes (curve.h).
	 */
	bool is_curve_by_step;
	uint64_t curve[GMT_OVERVIEW_CURVE];
	size_t curve_count;
};

/* All must be from one replay. */
struct gmt_overview_input {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_sites *sites;
	const struct gmt_allocator_state *allocator_state;
	const struct gmt_curves *curves;
};

/* Returns the account that the user most likely asks about, or NULL if nothing was allocated. */
const struct gmt_account *gmt_overview_find_account(const struct gmt_accounting *accounting);

/*
 * Makes the overview. Fails only for lack of memory. `ret_overview` must be zeroed. It needs no end
 * and borrows from all inputs.
 */
enum gmt_status gmt_overview_compute(struct gmt_overview *ret_overview,
	const struct gmt_overview_input *input, struct gmt_error *error);

#endif
