/* SPDX-License-Identifier: MIT */
#include "render/ledger.h"
#include "render/ooms.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

/* There are few rows with few holders each, so an index of sites is not worth its cost. */
static void render_place(const struct gmt_report *report, uint32_t site, struct gmt_json *json)
{
	for (size_t i = 0; i < report->sites->rows.count && i < report->limit; i++) {
		if (report->sites->rows.items[i].id == site) {
			gmt_json_u64(json, i);
			return;
		}
	}
	gmt_json_null(json);
}

static void render_holders(const struct gmt_report *report, const struct gmt_oom_row *row,
	struct gmt_json *json)
{
	gmt_json_key_text(json, "holders_layer", gmt_layer_name(row->holders_layer));
	gmt_json_key_u64(json, "held_bytes", row->held_bytes);
	gmt_json_key_array(json, "holders");
	for (uint32_t i = 0; i < row->holder_count; i++)
		render_place(report, row->holders[i].site, json);
	gmt_json_end_array(json);
	gmt_json_key_array(json, "holder_bytes");
	for (uint32_t i = 0; i < row->holder_count; i++)
		gmt_json_u64(json, row->holders[i].bytes);
	gmt_json_end_array(json);
}

static void render_row(const struct gmt_report *report, const struct gmt_ooms_steps *steps,
	const struct gmt_oom_row *row, struct gmt_json *json)
{
	uint64_t step = 0;
	bool has_step = steps && steps->of_stamp && steps->of_stamp(steps->user, row->stamp, &step);

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "time_ns", row->time_ns);
	gmt_json_key_text(json, "layer", gmt_layer_name(row->layer));
	gmt_json_key_device(json, row->device);
	gmt_json_key_u64(json, "requested_bytes", row->requested_bytes);
	gmt_json_key_known(json, "free_bytes", row->has_free, row->free_bytes);
	gmt_json_key_known(json, "total_bytes", row->has_driver, row->total_bytes);
	gmt_json_key_u64(json, "live_bytes", row->live_bytes);
	gmt_json_key_u64(json, "cuda_live_bytes", row->cuda_bytes);
	gmt_json_key_u64(json, "cached_bytes", row->cached_bytes);
	gmt_json_key_known(json, "usable_cached_bytes", row->knows_usable, row->usable_bytes);
	gmt_json_key_known(json, "graph_cached_bytes", row->knows_usable, row->graph_bytes);
	gmt_json_key_known(json, "reserved_bytes", row->has_cache, row->reserved_bytes);
	gmt_json_key_known(json, "largest_hole_bytes", row->has_hole, row->hole_bytes);
	gmt_json_key(json, "would_fit");
	if (row->has_driver)
		gmt_json_bool(json, gmt_oom_would_fit(row));
	else
		gmt_json_null(json);
	gmt_json_key_bool(json, "recovered", row->recovered);
	gmt_json_key_u64(json, "driver_refusals", row->driver_refusals);
	gmt_json_key_known(json, "step", has_step, step);
	gmt_ledger_write_refusal_json(report->ledger, row->device,
		(size_t)(row - report->ooms->rows.items), json);
	render_holders(report, row, json);
	gmt_owner_json(report->traces, row->stack, row->layer, row->device, json);
	gmt_json_key_u64(json, "own_frame", gmt_traces_own_line(report->traces, row->stack));
	gmt_stack_json(report->traces, row->stack, json);
	gmt_json_end_object(json);
}

void gmt_ooms_json(const struct gmt_report *report, const struct gmt_ooms_steps *steps,
	struct gmt_json *json)
{
	const struct gmt_ooms *ooms = report->ooms;

	gmt_json_key_array(json, "ooms");
	for (size_t i = 0; i < ooms->rows.count; i++)
		render_row(report, steps, &ooms->rows.items[i], json);
	gmt_json_end_array(json);
	gmt_json_key_object(json, "oom_counts");
	gmt_json_key_u64(json, "failed", ooms->failures);
	gmt_json_key_u64(json, "recovered", ooms->retries);
	gmt_json_key_u64(json, "left_out", ooms->left_out);
	gmt_json_end_object(json);
}
