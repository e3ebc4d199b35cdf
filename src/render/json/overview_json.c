/* SPDX-License-Identifier: MIT */
#include "render/overview.h"

#include "analysis/recording/recorded_program.h"
#include "render/stack_json.h"

static void render_line(const struct gmt_report *report, const struct gmt_overview_line *line,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "bytes", line->bytes);
	gmt_json_key_u64(json, "blocks", line->blocks);
	gmt_json_key_text(json, "operator", *line->operator ? line->operator : NULL);
	gmt_json_key(json, "frame");
	if (line->place_plus_1)
		gmt_frame_json(report->traces, line->place_plus_1 - 1, json);
	else
		gmt_json_null(json);
	gmt_json_end_object(json);
}

static void render_peak(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_overview *overview = report->overview;
	const struct gmt_account *account = overview->account;
	bool on_device = account->device != GMT_DEVICE_HOST;

	gmt_json_key_text(json, "layer", gmt_layer_name(account->layer));
	if (on_device)
		gmt_json_key_i64(json, "device", account->device);
	else
		gmt_json_key_text(json, "device", NULL);
	gmt_json_key_u64(json, "peak_bytes", account->peak_bytes);
	gmt_json_key_known(json, "total_bytes", overview->device != NULL,
		overview->device ? overview->device->total_bytes : 0);
	gmt_json_key_u64(json, "peak_time_ns", overview->peak_time_ns);
	gmt_json_key_known(json, "step", overview->has_step, overview->step);
	gmt_json_key_text(json, "part", overview->has_part ? gmt_part_name(overview->part) : NULL);
	gmt_json_key_text(json, "phase", overview->phase);
	gmt_json_key_array(json, "lines");
	for (size_t i = 0; i < overview->line_count; i++)
		render_line(report, &overview->lines[i], json);
	gmt_json_end_array(json);
	gmt_json_key_object(json, "curve");
	gmt_json_key_text(json, "by", overview->is_curve_by_step ? "step" : "changes");
	gmt_json_key_array(json, "max_bytes");
	for (size_t i = 0; i < overview->curve_count; i++)
		gmt_json_u64(json, overview->curve[i]);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

void gmt_overview_json(const struct gmt_report *report, struct gmt_json *json)
{
	gmt_json_key_object(json, "overview");
	gmt_json_key_text(json, "program", gmt_recorded_program(report->recording));
	if (report->overview->account)
		render_peak(report, json);
	else
		gmt_json_key_text(json, "layer", NULL);
	gmt_json_end_object(json);
}
