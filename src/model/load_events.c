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

/* A bit of each kind and layer that this version knows. */
enum {
	KNOWN_KINDS = 0
#define GMT_KIND(number, ...) | 1 << number
#include "wire/kinds.def"
#undef GMT_KIND
	,
	KNOWN_LAYERS = 0
#define GMT_LAYER(number, ...) | 1 << number
#include "wire/layers.def"
#undef GMT_LAYER
};

static bool is_known(const struct gmt_event *row)
{
	return row->kind < GMT_KIND_COUNT && KNOWN_KINDS >> row->kind & 1 && row->layer < GMT_BOOKS_LAYERS &&
		KNOWN_LAYERS >> row->layer & 1;
}

/* As gmt_load_trace; some hundreds of traces make up nearly all events of a stretch. */
static bool find_trace(struct gmt_load_events *loader, const struct gmt_event *row, uint32_t *ret_trace)
{
	/* UINT32_MAX: a fold says that it was for nobody. */
	uint32_t caller = row->caller == UINT32_MAX ? 0 : row->caller;
	uint64_t stacks = (uint64_t)row->stack << 32 | row->frames;
	struct gmt_load_known_trace *known = &loader->known[gmt_hash_u64(stacks + caller) % GMT_LOAD_KNOWN_TRACES];

	if (!known->trace_plus_1 || known->stacks != stacks || known->caller != caller) {
		if (!gmt_load_trace(loader, row->stack, row->frames, caller, ret_trace))
			return false;
		*known = (struct gmt_load_known_trace){ stacks, caller, *ret_trace + 1 };
	}
	*ret_trace = known->trace_plus_1 - 1;
	return true;
}

static bool load_event(struct gmt_load_events *loader, const struct gmt_event *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	bool is_torch = row->layer == GMT_LAYER_TORCH;
	uint64_t stamp = row->stamp;
	struct gmt_snapshot_event *event;
	uint32_t trace;

	if (loader->count >= UINT32_MAX - 1 || !find_trace(loader, row, &trace) || !clamp_stamp(loader, row->thread, &stamp))
		return false;
	event = gmt_order_push(&loader->order, stamp);
	if (!event)
		return false;
	*event = (struct gmt_snapshot_event){
		.stamp = stamp, .address = row->address, .size_bytes = row->size_bytes, .trace = trace,
		.thread = row->thread, .result = row->result, .api = row->api, .device = row->device,
		.kind = row->kind, .layer = row->layer, .space = row->space,
		.more = {
			is_torch ? (uint64_t)row->allocated_bytes : row->object,
			is_torch ? (uint64_t)row->reserved_bytes :
				row->object || row->context || has_offset(row->kind) ? row->stream : 0,
		},
		.context = is_torch ? 0 : row->context,
	};
	loader->count++;
	gmt_load_see_stamp(snapshot, stamp);
	snapshot->has_torch |= is_torch;
	snapshot->has_pool |= row->space == GMT_SPACE_POOL;
	snapshot->has_refusals |= row->kind == GMT_KIND_ALLOC_FAILED;
	if (row->kind == GMT_KIND_ALLOC || row->kind == GMT_KIND_MAP)
		snapshot->traces.items[trace].gets = true;
	return true;
}

bool gmt_load_event_rows(struct gmt_load_events *loader, const struct gmt_event *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		loader->snapshot->seen_events++;
		if (!is_known(&rows[i]))
			loader->snapshot->unknown_events++;
		else if (!load_event(loader, &rows[i]))
			return false;
	}
	return true;
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
