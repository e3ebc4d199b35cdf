/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_RENDER_INPUTS_H
#define GMT_TOOLS_REPORT_RENDER_INPUTS_H

/* Makes the inputs of the renderers (src/render) from the results of a pipeline. */

#include "render/report.h"
#include "tools/pipeline/pipeline.h"

/*
 * Returns the input for the renderers of leaks, with all leaks. The result borrows from the
 * pipeline.
 */
struct gmt_leaks_view gmt_leaks_view_of(const struct gmt_pipeline *pipeline);

/*
 * Returns the input for the renderers of a report, from a pipeline with wants_report_details. The
 * caller adds the user's options. The result borrows from all arguments.
 */
struct gmt_report gmt_report_of(struct gmt_pipeline *pipeline, const struct gmt_leaks_view *leaks,
	const struct gmt_allocator_state_view *allocator_state);

#endif
