/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_ALLOCATOR_STATE_RESULTS_H
#define GMT_TOOLS_PIPELINE_ALLOCATOR_STATE_RESULTS_H

/* The data of the report's sections about the state of PyTorch's allocator. */

#include "render/allocator_state.h"
#include "tools/pipeline/pipeline.h"

struct gmt_allocator_state_results {
	struct gmt_temporaries temporaries;
	struct gmt_table by;
	/* the input of the renderers: refers to this data; the caller sets limit and color */
	struct gmt_allocator_state_view view;
};

/*
 * Computes the data from a pipeline with wants_report_details. `by` is an enum gmt_table_grouping;
 * below 0: no table. `ret_state` (zeroed) must not move, and borrows from `pipeline`. The caller
 * ends it with gmt_allocator_state_results_fini, also after a failure.
 */
enum gmt_status gmt_allocator_state_results_compute(struct gmt_allocator_state_results *ret_state,
	const struct gmt_pipeline *pipeline, int by, enum gmt_sites_order key, struct gmt_error *error);

void gmt_allocator_state_results_fini(struct gmt_allocator_state_results *state);

#endif
