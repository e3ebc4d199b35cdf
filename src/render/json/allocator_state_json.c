/* SPDX-License-Identifier: MIT */
#include "reader/load/clock.h"
#include "render/memory_names.h"
#include "render/stack_json.h"
#include "render/allocator_state.h"

static void render_line(const struct gmt_allocator_state_view *view, uint32_t layer, int32_t device,
	uint32_t stack, uint32_t own_line, struct gmt_json *json)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(view->traces, stack, &count);

	gmt_json_key(json, "frame");
	if (count)
		gmt_frame_json(view->traces, places[own_line], json);
	else
		gmt_json_null(json);
	gmt_owner_json(view->traces, stack, layer, device, json);
}

static void render_holes(const struct gmt_segments *segments, struct gmt_json *json)
{
	gmt_json_key_array(json, "holes");
	for (size_t i = 0; i < GMT_HOLE_CLASSES; i++) {
		const struct gmt_segments_holes *holes = &segments->holes[i];

		gmt_json_begin_object(json);
		gmt_json_key_known(json, "below_bytes", holes->below_bytes != UINT64_MAX,
			holes->below_bytes);
		gmt_json_key_u64(json, "holes", holes->holes);
		gmt_json_key_u64(json, "bytes", holes->bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_lines(const struct gmt_allocator_state_view *view,
	const struct gmt_segments *segments, struct gmt_json *json)
{
	gmt_json_key_array(json, "sparse_by");
	for (size_t i = 0; i < segments->pins.count; i++) {
		const struct gmt_segments_pin *pin = &segments->pins.items[i];

		gmt_json_begin_object(json);
		render_line(view, GMT_LAYER_TORCH, segments->device, pin->stack, pin->own_line, json);
		gmt_json_key_u64(json, "segments", pin->segments);
		gmt_json_key_u64(json, "free_bytes", pin->free_bytes);
		gmt_json_key_u64(json, "block_bytes", pin->block_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key_array(json, "other_driver_memory");
	for (size_t i = 0; i < segments->others.count; i++) {
		const struct gmt_segments_other *other = &segments->others.items[i];

		gmt_json_begin_object(json);
		render_line(view, GMT_LAYER_CUDA, segments->device, other->stack, other->own_line, json);
		gmt_json_key_text(json, "space", gmt_space_text(other->space).text);
		gmt_json_key_u64(json, "bytes", other->bytes);
		gmt_json_key_u64(json, "blocks", other->blocks);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_segments(const struct gmt_allocator_state_view *view,
	const struct gmt_segments *segments, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_i64(json, "device", segments->device);
	gmt_json_key_text(json, "moment", gmt_segments_moment_name(segments->moment));
	gmt_json_key_u64(json, "time_ns",
		segments->stamp == UINT64_MAX ? view->replay->end_time_ns
									  : gmt_clock_time_ns(view->recording, segments->stamp));
	gmt_json_key_u64(json, "segments", segments->segments);
	gmt_json_key_u64(json, "reserved_bytes", segments->reserved_bytes);
	gmt_json_key_u64(json, "allocated_bytes", segments->allocated_bytes);
	gmt_json_key_u64(json, "blocks", segments->blocks);
	gmt_json_key_u64(json, "empty_segments", segments->empty_segments);
	gmt_json_key_u64(json, "empty_bytes", segments->empty_bytes);
	gmt_json_key_u64(json, "hole_bytes", segments->hole_bytes);
	gmt_json_key_u64(json, "largest_hole_bytes", segments->largest_hole_bytes);
	render_holes(segments, json);
	gmt_json_key_u64(json, "graph_segments", segments->graph_segments);
	gmt_json_key_u64(json, "graph_bytes", segments->graph_bytes);
	gmt_json_key_u64(json, "graph_free_bytes", segments->graph_free_bytes);
	gmt_json_key_u64(json, "sparse_segments", segments->pinned_segments);
	gmt_json_key_u64(json, "sparse_bytes", segments->pinned_bytes);
	gmt_json_key_bool(json, "above_ratio", segments->fragmented);
	gmt_json_key_u64(json, "outside_blocks", segments->outside_blocks);
	gmt_json_key_u64(json, "outside_bytes", segments->outside_bytes);
	gmt_json_key_u64(json, "driver_bytes", segments->driver_bytes);
	gmt_json_key_u64(json, "driver_blocks", segments->driver_blocks);
	render_lines(view, segments, json);
	gmt_json_end_object(json);
}

static void render_stat(const struct gmt_allocator_stat *stat, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "current", stat->current);
	gmt_json_key_u64(json, "peak", stat->peak);
	gmt_json_key_u64(json, "allocated", stat->allocated);
	gmt_json_key_u64(json, "freed", stat->freed);
	gmt_json_end_object(json);
}

/* Leaves out statistics that cannot be known. */
static void render_stats(const struct gmt_allocator_device *device, struct gmt_json *json)
{
	bool knows_segments = gmt_allocator_knows_segments(device);

	gmt_json_key_object(json, "stats");
	for (enum gmt_allocator_row row = 0; row < GMT_ALLOCATOR_ROWS; row++) {
		if (!knows_segments && row != GMT_ALLOCATOR_ALLOCATED && row != GMT_ALLOCATOR_BLOCKS)
			continue;
		gmt_json_key_object(json, gmt_allocator_key(row));
		for (enum gmt_allocator_pool pool = 0; pool < GMT_ALLOCATOR_POOLS; pool++)
			if (knows_segments || pool == GMT_POOL_ALL) {
				gmt_json_key(json, gmt_allocator_pool_name(pool));
				render_stat(&device->stats[row][pool], json);
			}
		gmt_json_end_object(json);
	}
	gmt_json_end_object(json);
}

static void render_cache_releases(const struct gmt_allocator_state_view *view,
	const struct gmt_allocator_device *device, struct gmt_json *json)
{
	gmt_json_key_object(json, "given_back");
	gmt_json_key_u64(json, "count", device->cache_release_count);
	gmt_json_key_u64(json, "bytes", device->released_bytes);
	gmt_json_key_u64(json, "again_bytes", device->reacquired_bytes);
	gmt_json_key_array(json, "times");
	for (size_t i = 0; i < device->cache_releases.count; i++) {
		const struct gmt_cache_release *row = &device->cache_releases.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "time_ns", gmt_clock_time_ns(view->recording, row->stamp));
		gmt_json_key_u64(json, "bytes", row->bytes);
		gmt_json_key_u64(json, "segments", row->segments);
		gmt_json_key_u64(json, "again_bytes", row->reacquired_bytes);
		gmt_json_key_bool(json, "after_refusal", row->after_refusal);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void render_allocator(const struct gmt_allocator_state_view *view,
	const struct gmt_allocator_device *device, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_i64(json, "device", device->device);
	gmt_json_key_bool(json, "knows_segments", gmt_allocator_knows_segments(device));
	render_stats(device, json);
	render_cache_releases(view, device, json);
	gmt_json_end_object(json);
}

static void render_temporaries(const struct gmt_allocator_state_view *view, const char *key,
	const struct gmt_temporary_rows *rows, bool short_lived, struct gmt_json *json)
{
	gmt_json_key_array(json, key);
	for (size_t i = 0; i < rows->count && i < view->limit; i++) {
		const struct gmt_temporary *row = &rows->items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "layer", gmt_layer_name(row->layer));
		gmt_json_key_device(json, row->device);
		render_line(view, row->layer, row->device, row->stack, row->own_line, json);
		gmt_json_key_u64(json, "count", row->count);
		gmt_json_key_u64(json, "bytes", row->bytes);
		gmt_json_key_u64(json, "largest_bytes", row->largest_bytes);
		if (short_lived)
			gmt_json_key_u64(json, "at_peak_bytes", row->at_peak_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

void gmt_allocator_state_json(const struct gmt_allocator_state_view *view, struct gmt_json *json)
{
	const struct gmt_allocator_state *allocator_state = view->allocator_state;

	gmt_peaks_json(view, json);
	gmt_json_key_array(json, "segments");
	for (size_t i = 0; i < allocator_state->segments.count; i++)
		render_segments(view, &allocator_state->segments.items[i], json);
	gmt_json_end_array(json);
	gmt_json_key_array(json, "allocator");
	for (size_t i = 0; i < allocator_state->allocator.devices.count; i++)
		if (allocator_state->allocator.devices.items[i]
				.stats[GMT_ALLOCATOR_BLOCKS][GMT_POOL_ALL]
				.allocated)
			render_allocator(view, &allocator_state->allocator.devices.items[i], json);
	gmt_json_end_array(json);
	gmt_json_key_object(json, "temporaries");
	gmt_json_key_text(json, "not_known", view->temporaries->why_no_steps);
	render_temporaries(view, "in_step", &view->temporaries->in_step, false, json);
	render_temporaries(view, "short_lived", &view->temporaries->short_lived, true, json);
	gmt_json_end_object(json);
	gmt_tables_json(view, json);
}
