/* SPDX-License-Identifier: MIT */
#include "model/load_events.h"

#include "base/pages.h"
#include "books/books.h"
#include "model/backward.h"

bool gmt_load_trace(struct gmt_load_events *loader, uint32_t stack, uint32_t frames, uint32_t caller,
	uint32_t *ret_trace)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	struct gmt_map *ids = &loader->trace_ids;
	uint64_t index, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t pair;

		if (!gmt_load_trace(loader, stack, frames, 0, &pair))
			return false;
		ids = &loader->caller_ids;
		key = (uint64_t)pair << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &index)) {
		struct gmt_snapshot_trace *trace = gmt_vec_push(&snapshot->traces);

		index = snapshot->traces.count - 1;
		if (!trace || !gmt_map_put(ids, key, index))
			return false;
		*trace = (struct gmt_snapshot_trace){ .stack = stack, .frames = frames, .caller = caller };
	}
	*ret_trace = (uint32_t)index;
	return true;
}

/* A thread's clock never goes back, whatever processor it moves to: position orders within it. */
static bool clamp_stamp(struct gmt_load_events *loader, uint32_t thread, uint64_t *stamp)
{
	if (!loader->clamp_index_plus_1 || loader->clamp_thread != thread) {
		uint64_t index;

		if (!gmt_map_find(&loader->clamp_ids, thread, &index)) {
			index = loader->clamps.count;
			if (!gmt_vec_reserve(&loader->clamps, 1) ||
				!gmt_map_put(&loader->clamp_ids, thread, index))
				return false;
			loader->clamps.items[loader->clamps.count++] = 0;
		}
		loader->clamp_thread = thread;
		loader->clamp_index_plus_1 = index + 1;
	}

	uint64_t *last = &loader->clamps.items[loader->clamp_index_plus_1 - 1];
	if (*stamp < *last)
		*stamp = *last;
	*last = *stamp;
	return true;
}

/* Kinds that say an offset where others say a stream. */
static bool has_offset(unsigned kind)
{
	return kind == GMT_KIND_BIND || kind == GMT_KIND_BIND_ADDRESS || kind == GMT_KIND_UNBIND;
}

bool gmt_load_event(struct gmt_load_events *loader, const struct gmt_event *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	bool is_torch = row->layer == GMT_LAYER_TORCH;
	struct gmt_snapshot_event event = {
		.stamp = row->stamp, .address = row->address, .size_bytes = row->size_bytes,
		.thread = row->thread, .result = row->result, .api = row->api, .device = row->device,
		.kind = row->kind, .layer = row->layer, .space = row->space,
		.more = {
			is_torch ? (uint64_t)row->allocated_bytes : row->object,
			is_torch ? (uint64_t)row->reserved_bytes :
				row->object || row->context || has_offset(row->kind) ? row->stream : 0,
		},
		.context = is_torch ? 0 : row->context,
	};

	snapshot->seen_events++;
	if (!gmt_layer_name(row->layer) || row->layer >= GMT_BOOKS_LAYERS || !gmt_kind_name(row->kind)) {
		snapshot->unknown_events++;
		return true;
	}
	/* UINT32_MAX: a fold says that it was for nobody. */
	if (loader->count >= UINT32_MAX - 1 || !gmt_load_trace(loader, row->stack, row->frames,
			row->caller == UINT32_MAX ? 0 : row->caller, &event.trace) ||
		!clamp_stamp(loader, row->thread, &event.stamp))
		return false;
	gmt_load_see_stamp(snapshot, event.stamp);
	snapshot->has_torch |= is_torch;
	snapshot->has_pool |= row->space == GMT_SPACE_POOL;
	snapshot->has_refusals |= row->kind == GMT_KIND_ALLOC_FAILED;
	snapshot->traces.items[event.trace].gets |= row->kind == GMT_KIND_ALLOC || row->kind == GMT_KIND_MAP;
	loader->count++;
	return gmt_order_push(&loader->order, &event);
}

bool gmt_load_finish_events(struct gmt_load_events *loader)
{
	struct gmt_snapshot *snapshot = loader->snapshot;

	snapshot->reader = gmt_pages_grow(NULL, 0, sizeof(*snapshot->reader));
	return snapshot->reader && gmt_order_finish(&loader->order, &snapshot->events) &&
		gmt_events_reader_init(snapshot->reader, &snapshot->events, GMT_EVENTS_ALL) && gmt_backward_adopt(snapshot);
}

bool gmt_load_end_past(struct gmt_load_events *loader)
{
	loader->snapshot->past_events = loader->count;
	return gmt_order_part(&loader->order);
}

void gmt_load_events_fini(struct gmt_load_events *loader)
{
	gmt_map_fini(&loader->trace_ids);
	gmt_map_fini(&loader->caller_ids);
	gmt_map_fini(&loader->clamp_ids);
	gmt_vec_fini(&loader->clamps);
	gmt_order_fini(&loader->order);
}
