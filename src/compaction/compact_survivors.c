/* SPDX-License-Identifier: MIT */
#include "compaction/compactor.h"

#include <stddef.h>

bool gmt_compact_trace(struct gmt_compactor *compactor, uint32_t stack, uint32_t frames,
	uint32_t caller, uint32_t *ret_trace)
{
	struct gmt_map *ids = &compactor->pair_ids;
	uint64_t id, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t pair;

		if (!gmt_compact_trace(compactor, stack, frames, 0, &pair))
			return false;
		ids = &compactor->place_ids;
		key = (uint64_t)pair << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &id)) {
		id = compactor->traces.count;
		if (!gmt_vec_reserve(&compactor->traces, 1) || !gmt_map_put(ids, key, id))
			return false;
		*gmt_vec_push(&compactor->traces) = (struct gmt_compact_trace){ stack, frames, caller };
	}
	*ret_trace = (uint32_t)id;
	return true;
}

uint32_t gmt_compact_add_survivor(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace)
{
	struct gmt_compact_survivor *survivor;
	uint32_t index = compactor->free_survivor_plus_1;

	if (index) {
		survivor = &compactor->survivors.items[index - 1];
		compactor->free_survivor_plus_1 = survivor->next_plus_1;
	} else {
		survivor = gmt_vec_push(&compactor->survivors);
		index = (uint32_t)compactor->survivors.count;
	}
	if (!survivor)
		return 0;
	*survivor = (struct gmt_compact_survivor){
		.stamp = event->stamp,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.object = event->object,
		.stream = event->stream,
		.allocated_bytes = event->allocated_bytes,
		.reserved_bytes = event->reserved_bytes,
		.trace = trace,
		.thread = event->thread,
		.api = event->api,
		.context = event->context,
		.device = event->device,
		.kind = event->kind,
		.layer = event->layer,
		.space = event->space,
	};
	return index;
}

void gmt_compact_drop_survivor(struct gmt_compactor *compactor, uint32_t survivor_plus_1)
{
	if (!survivor_plus_1)
		return;
	compactor->survivors.items[survivor_plus_1 - 1].next_plus_1 = compactor->free_survivor_plus_1;
	compactor->free_survivor_plus_1 = survivor_plus_1;
}

struct gmt_compact_device *gmt_compact_find_device(const struct gmt_compactor *compactor,
	int16_t device)
{
	uint64_t index;

	return gmt_map_find(&compactor->device_ids, (uint16_t)device, &index)
		? &compactor->devices.items[index]
		: NULL;
}

struct gmt_compact_device *gmt_compact_device(struct gmt_compactor *compactor, int16_t device)
{
	struct gmt_compact_device *row = gmt_compact_find_device(compactor, device);

	if (row)
		return row;
	if (!gmt_vec_reserve(&compactor->devices, 1) ||
		!gmt_map_put(&compactor->device_ids, (uint16_t)device, compactor->devices.count))
		return NULL;
	row = gmt_vec_push(&compactor->devices);
	row->device = device; /* The other fields are zero: the device has no history. */
	return row;
}
