/* SPDX-License-Identifier: MIT */
#include "tools/report/render_inputs.h"

#include "tools/report/report_page.h"

struct gmt_leaks_view gmt_leaks_view_of(const struct gmt_pipeline *pipeline)
{
	return (struct gmt_leaks_view){
		.recording = pipeline->recording,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.timeline = &pipeline->timeline,
		.history = &pipeline->history,
		.leaks = &pipeline->leaks,
		.limit = UINT64_MAX,
	};
}

struct gmt_report gmt_report_of(struct gmt_pipeline *pipeline, const struct gmt_leaks_view *leaks,
	const struct gmt_allocator_state_view *allocator_state)
{
	return (struct gmt_report){
		.recording = pipeline->recording,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.summary = &pipeline->summary,
		.sites = &pipeline->sites,
		.warnings = &pipeline->warnings,
		.ooms = &pipeline->ooms,
		.ledger = &pipeline->ledger,
		.heaps = &pipeline->heaps,
		.allocator_state = allocator_state,
		.leaks = leaks,
		.overview = &pipeline->overview,
		.has_page = gmt_report_page_is_possible(),
	};
}
