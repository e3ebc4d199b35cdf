/* SPDX-License-Identifier: MIT */
#include "analysis/recording/recorded_program.h"
#include "render/live/live.h"
#include "render/memory_names.h"

static void write_device(struct gmt_json *json, const struct gmt_live_device *device)
{
	gmt_json_begin_object(json);
	gmt_json_key_device(json, device->device);
	gmt_json_key_text(json, "name", device->name);
	gmt_json_key_known(json, "allocated_bytes", device->has_torch, device->allocated_bytes);
	gmt_json_key_known(json, "reserved_bytes", device->has_torch, device->reserved_bytes);
	gmt_json_key_known(json, "allocated_peak_bytes", device->has_torch,
		device->allocated_peak_bytes);
	gmt_json_key_known(json, "reserved_peak_bytes", device->has_torch, device->reserved_peak_bytes);
	gmt_json_key_u64(json, "cuda_bytes", device->cuda_bytes);
	gmt_json_key_u64(json, "cuda_peak_bytes", device->cuda_peak_bytes);
	gmt_json_key_u64(json, "driver_bytes", device->driver_bytes);
	gmt_json_key_known(json, "other_bytes", device->has_sample, device->other_bytes);
	gmt_json_key_known(json, "free_bytes", device->has_sample, device->free_bytes);
	gmt_json_key_known(json, "total_bytes", device->has_sample, device->total_bytes);
	gmt_json_end_object(json);
}

static void write_line(struct gmt_json *json, const struct gmt_live_line *line)
{
	const struct gmt_live_name *name = line->name;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "layer", gmt_layer_name(line->layer));
	gmt_json_key_device(json, line->device);
	gmt_json_key_text(json, "function", name && *name->function ? name->function : NULL);
	gmt_json_key_text(json, "file", name && *name->file ? name->file : NULL);
	gmt_json_key_known(json, "line", name && name->line, name ? name->line : 0);
	gmt_json_key_bool(json, "is_named", name != NULL);
	gmt_json_key_u64(json, "live_bytes", line->live_bytes);
	gmt_json_key_u64(json, "live_blocks", line->live_blocks);
	gmt_json_key_i64(json, "growth_bytes", line->growth_bytes);
	gmt_json_key_u64(json, "alloc_count", line->alloc_count);
	gmt_json_key_u64(json, "total_bytes", line->total_bytes);
	gmt_json_end_object(json);
}

static void write_steps(struct gmt_json *json, const struct gmt_live_view *view)
{
	gmt_json_key(json, "steps");
	if (!view->steps) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "count", view->steps->steps);
	gmt_json_key_text(json, "source", gmt_mark_source_name(view->steps->source));
	gmt_json_key_text(json, "name", view->steps->name);
	gmt_json_key_double(json, "seconds_per_step",
		view->seconds_per_step > 0 ? view->seconds_per_step : -1);
	gmt_json_end_object(json);
}

void gmt_live_json(struct gmt_json *json, const struct gmt_live_process *process, size_t max_lines)
{
	const struct gmt_recording *recording = process->follow->recording;
	const struct gmt_live_view *view = process->view;

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "pid", process->pid);
	gmt_json_key_known(json, "rank", recording->has_process && recording->process.rank >= 0,
		(uint64_t)recording->process.rank);
	gmt_json_key_text(json, "host", recording->host);
	gmt_json_key_text(json, "program",
		recording->has_process ? gmt_recorded_program(recording) : NULL);
	gmt_json_key_text(json, "file", process->path);
	gmt_json_key_text(json, "state", process->state);
	gmt_json_key_u64(json, "time_ns", view->time_ns);
	gmt_json_key_u64(json, "covered_ns", process->follow->covered_ns);
	gmt_json_key_u64(json, "read_percent", process->read_percent);
	gmt_json_key_bool(json, "is_exact", !process->follow->is_late);
	gmt_json_key_u64(json, "events", view->events);
	gmt_json_key_u64(json, "events_per_second", (uint64_t)(view->events_per_second + 0.5));
	gmt_json_key_u64(json, "dropped_events", view->dropped_events);
	gmt_json_key_u64(json, "refused_requests", view->refusals);
	write_steps(json, view);
	gmt_json_key_text(json, "phase", view->phase);
	gmt_json_key_array(json, "devices");
	for (size_t i = 0; i < view->devices.count; i++)
		write_device(json, &view->devices.items[i]);
	gmt_json_end_array(json);
	gmt_json_key_u64(json, "growth_seconds", GMT_FOLLOW_SECONDS);
	gmt_json_key_array(json, "lines");
	for (size_t i = 0; i < view->lines.count && i < max_lines; i++)
		write_line(json, &view->lines.items[i]);
	gmt_json_end_array(json);
	gmt_json_key_u64(json, "lines_left_out",
		view->lines.count > max_lines ? view->lines.count - max_lines : 0);
	gmt_json_key_u64(json, "unnamed_sites", process->unnamed_sites);
	gmt_json_end_object(json);
}
