/* SPDX-License-Identifier: MIT */
#include "tools/report/first_screen.h"

#include "render/overview.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"
#include "tools/pipeline/allocator_state_results.h"
#include "tools/pipeline/pipeline.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/work_limit.h"
#include "tools/report/render_inputs.h"

static bool render(struct gmt_pipeline *pipeline, const struct gmt_allocator_state_view *state,
	FILE *file)
{
	const struct gmt_leaks_view leaks = gmt_leaks_view_of(pipeline);
	struct gmt_report report = gmt_report_of(pipeline, &leaks, state);

	report.columns = gmt_terminal_columns(file);
	report.is_utf8 = gmt_terminal_is_utf8();
	report.color = gmt_output_enable_color(file, GMT_COLOR_AUTO);
	fputc('\n', file);
	return gmt_overview_text(&report, file);
}

bool gmt_first_screen(const char *path, FILE *file)
{
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_allocator_state_results state = { 0 };
	struct gmt_pipeline_options options = {
		.traces.symbols_cache = gmt_symbols_cache_open(),
		.leaks = gmt_pipeline_default_leaks,
		.wants_report_details = true,
	};
	struct gmt_error error = { 0 };
	bool done = !gmt_pipeline_load(path, &options, &pipeline);

	if (done &&
		gmt_allocator_state_results_compute(&state, &pipeline, -1, GMT_SITES_BY_PEAK, &error)) {
		gmt_message_failure(&error);
		done = false;
	}
	done = done && render(&pipeline, &state.view, file);
	gmt_allocator_state_results_fini(&state);
	gmt_pipeline_fini(&pipeline);
	gmt_symbols_cache_close(options.traces.symbols_cache);
	gmt_work_limit_report(path);
	return done;
}
