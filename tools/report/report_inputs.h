/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_INPUTS_H
#define GMT_TOOLS_REPORT_REPORT_INPUTS_H

/* Builds the inputs of the renderers (src/render) from the analysed recording of a pipeline. */

#include "render/report.h"
#include "tools/pipeline/pipeline.h"

/* Returns the input for the renderers of leaks, with all leaks. It borrows from the pipeline. */
struct gmt_leaks_view gmt_report_input_leaks(const struct gmt_pipeline *pipeline);

/*
 * Returns the input for the renderers of a report. The caller adds the options of the user. It
 * borrows from all arguments. The pipeline must have run with wants_report_details.
 */
struct gmt_report gmt_report_input_all(struct gmt_pipeline *pipeline,
	const struct gmt_leaks_view *leaks, const struct gmt_allocator_state_view *allocator_state);

#endif
