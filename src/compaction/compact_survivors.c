/* SPDX-License-Identifier: MIT */
#include "compaction/compact_internal.h"

uint32_t gmt_compact_add_survivor(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace)
{
	struct gmt_compact_survivor *survivor;
	uint32_t index = compactor->unused_survivor_plus_1;

	if (index) {
		survivor = &compactor->survivors.items[index - 1];
		compactor->unused_survivor_plus_1 = survivor->next_plus_1;
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
	compactor->survivors.items[survivor_plus_1 - 1].next_plus_1 = compactor->unused_survivor_plus_1;
	compactor->unused_survivor_plus_1 = survivor_plus_1;
}
