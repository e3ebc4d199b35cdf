/* SPDX-License-Identifier: MIT */
#include "render/custom_heaps.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

static void render_site(const struct gmt_custom_heaps_view *view,
	const struct gmt_custom_heap_site *site, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "peak_bytes", site->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", site->peak_blocks);
	gmt_json_key_u64(json, "live_bytes", site->live_bytes);
	gmt_json_key_u64(json, "live_blocks", site->live_blocks);
	gmt_json_key_u64(json, "total_bytes", site->total_bytes);
	gmt_json_key_u64(json, "allocs", site->alloc_count);
	gmt_json_key_u64(json, "frees", site->free_count);
	gmt_json_key_u64(json, "own_frame", site->own_line);
	gmt_stack_json(view->traces, site->stack, json);
	gmt_json_end_object(json);
}

static void render_heap(const struct gmt_custom_heaps_view *view,
	const struct gmt_custom_heap_row *row, struct gmt_json *json)
{
	const struct gmt_interpret_heap_group *heap = row->heap;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "name", heap->name[0] ? heap->name : NULL);
	gmt_json_key_device(json, heap->device);
	gmt_json_key_text(json, "source", gmt_mark_source_name(heap->source));
	gmt_json_key_u64(json, "heaps", heap->heaps);
	gmt_json_key_u64(json, "live_heaps", heap->live_heaps);
	gmt_json_key_known(json, "size_bytes", row->has_size, heap->size_bytes);
	gmt_json_key_u64(json, "max_size_bytes", heap->max_size_bytes);
	gmt_json_key_u64(json, "live_bytes", row->accounting.live_bytes);
	gmt_json_key_u64(json, "live_blocks", row->accounting.live_blocks);
	gmt_json_key_known(json, "free_bytes", row->has_size, row->free_bytes);
	gmt_json_key_u64(json, "peak_bytes", row->accounting.peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", row->accounting.peak_blocks);
	gmt_json_key_u64(json, "peak_time_ns", row->peak_time_ns);
	gmt_json_key_u64(json, "alloc_count", row->accounting.alloc_count);
	gmt_json_key_u64(json, "free_count", row->accounting.free_count);
	gmt_json_key_u64(json, "total_alloc_bytes", row->accounting.total_bytes);
	gmt_json_key_u64(json, "swept_blocks", heap->swept_blocks);
	gmt_json_key_u64(json, "swept_bytes", heap->swept_bytes);
	gmt_json_key_array(json, "sites");
	for (size_t i = 0; i < row->sites.count; i++)
		render_site(view, &row->sites.items[i], json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

void gmt_custom_heaps_json(const struct gmt_custom_heaps_view *view, struct gmt_json *json)
{
	gmt_json_key_array(json, "heaps");
	for (size_t i = 0; i < view->heaps->rows.count; i++)
		render_heap(view, &view->heaps->rows.items[i], json);
	gmt_json_end_array(json);
}
