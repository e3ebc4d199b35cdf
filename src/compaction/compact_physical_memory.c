/* SPDX-License-Identifier: MIT */
/*
 * Survivors of handles and mappings: the events that recreate the same state when they are
 * interpreted again. A reference that was added and removed again is dropped as a pair.
 */
#include <stddef.h>

#include "compaction/compact_internal.h"

/* Returns the memory that an event refers to, by the same rules as interpret_physical_memory.c. */
static uint32_t memory_of(const struct gmt_compactor *compactor, const struct gmt_event *event)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;
	uint32_t memory;

	switch (event->kind) {
	case GMT_KIND_ALLOC:
	case GMT_KIND_FREE:
		return gmt_has_handles(event->layer, event->space)
			? gmt_physical_find(physical, event->address)
			: GMT_PHYSICAL_NONE;
	case GMT_KIND_RETAIN:
		memory = gmt_physical_find(physical, event->address);
		return memory != GMT_PHYSICAL_NONE ? memory
										   : gmt_physical_find_mapped(physical, event->object);
	case GMT_KIND_MAP:
	case GMT_KIND_BIND:
		return gmt_physical_find(physical, event->object);
	case GMT_KIND_BIND_ADDRESS:
		return gmt_physical_find_mapped(physical, event->object);
	}
	return GMT_PHYSICAL_NONE;
}

void gmt_compact_before_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace, struct gmt_compact_before *ret_before)
{
	uint64_t creator;

	*ret_before = (struct gmt_compact_before){ .memory = GMT_PHYSICAL_NONE, .trace = trace };
	if (gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return;
	ret_before->memory = memory_of(compactor, event);
	if (ret_before->memory != GMT_PHYSICAL_NONE)
		ret_before->size_bytes =
			compactor->interpreter.physical.memory.items[ret_before->memory].size_bytes;
	/*
	 * The creator of a node is the call that added it to the graph from which this executable graph
	 * was made.
	 */
	if ((event->kind == GMT_KIND_NODE_ALLOC || event->kind == GMT_KIND_NODE_FREE) &&
		event->object &&
		gmt_map_find(&compactor->interpreter.node_creators, event->address, &creator))
		ret_before->trace = (uint32_t)(creator >> 32);
}

static struct gmt_compact_memory *entry_of(struct gmt_compactor *compactor, uint32_t memory)
{
	while (compactor->memories.count <= memory) {
		struct gmt_compact_memory *slot = gmt_vec_push(&compactor->memories);

		if (!slot)
			return NULL;
		*slot = (struct gmt_compact_memory){ 0 };
	}
	return &compactor->memories.items[memory];
}

void gmt_compact_forget_list(struct gmt_compactor *compactor, uint32_t first_plus_1)
{
	while (first_plus_1) {
		uint32_t next = compactor->survivors.items[first_plus_1 - 1].next_plus_1;

		gmt_compact_drop_survivor(compactor, first_plus_1);
		first_plus_1 = next;
	}
}

static bool is_alive(const struct gmt_compactor *compactor, uint32_t memory)
{
	const struct gmt_physical_memory *physical_memory =
		&compactor->interpreter.physical.memory.items[memory];

	return physical_memory->references || physical_memory->mappings;
}

static void forget_memory(struct gmt_compactor *compactor, uint32_t memory)
{
	struct gmt_compact_memory *entry = &compactor->memories.items[memory];

	gmt_compact_forget_list(compactor, entry->last_plus_1);
	gmt_compact_drop_survivor(compactor, entry->sizing_mapping_plus_1);
	*entry = (struct gmt_compact_memory){ 0 };
}

/* Adds an event to the front of the memory's list. */
static bool push_survivor(struct gmt_compactor *compactor, uint32_t memory,
	const struct gmt_event *event, uint32_t trace)
{
	uint32_t index = gmt_compact_add_survivor(compactor, event, trace);
	struct gmt_compact_memory *entry = index ? entry_of(compactor, memory) : NULL;

	if (!entry)
		return false;
	compactor->survivors.items[index - 1].next_plus_1 = entry->last_plus_1;
	entry->last_plus_1 = index;
	return true;
}

/*
 * Adds or removes a reference. A removal cancels the last addition of the same handle. An addition
 * cancels the last removal of the same handle: mappings kept the memory alive in between.
 */
static bool change_references(struct gmt_compactor *compactor, uint32_t memory,
	const struct gmt_event *event, uint32_t trace)
{
	struct gmt_compact_memory *entry = entry_of(compactor, memory);
	const struct gmt_compact_survivor *last;
	uint32_t last_plus_1;

	if (!entry)
		return false;
	last_plus_1 = entry->last_plus_1;
	last = last_plus_1 ? &compactor->survivors.items[last_plus_1 - 1] : NULL;
	/* The event that created the memory is kept. */
	if (!last || !last->next_plus_1 || last->address != event->address ||
		(last->kind == GMT_KIND_FREE) == (event->kind == GMT_KIND_FREE))
		return push_survivor(compactor, memory, event, trace);
	entry->last_plus_1 = last->next_plus_1;
	gmt_compact_drop_survivor(compactor, last_plus_1);
	return true;
}

/* Stores the event that made the mapping at this key. */
static bool store_mapping(struct gmt_compactor *compactor, uint64_t key,
	const struct gmt_event *event, uint32_t trace)
{
	uint64_t index;

	if (!gmt_map_find(&compactor->interpreter.physical.mapped, key, &index))
		return true;
	while (compactor->mapping_survivors.count <= index) {
		uint32_t *slot = gmt_vec_push(&compactor->mapping_survivors);

		if (!slot)
			return false;
		*slot = 0;
	}
	gmt_compact_drop_survivor(compactor, compactor->mapping_survivors.items[index]);
	compactor->mapping_survivors.items[index] = gmt_compact_add_survivor(compactor, event, trace);
	return compactor->mapping_survivors.items[index];
}

static bool store_binding(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;
	uint32_t multicast = gmt_physical_find(physical, event->address);
	struct gmt_event bound = *event;

	if (multicast == GMT_PHYSICAL_NONE || before->memory == GMT_PHYSICAL_NONE)
		return true;
	bound.device =
		event->device >= 0 ? event->device : physical->memory.items[before->memory].device;
	return store_mapping(compactor,
		gmt_physical_multicast_key(multicast, bound.device, event->stream), &bound, before->trace);
}

bool gmt_compact_after_memory_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;
	uint32_t memory = before->memory;

	switch (event->kind) {
	case GMT_KIND_ALLOC:
		/* The memory was imported again; otherwise it is new. */
		if (memory != GMT_PHYSICAL_NONE && event->space == GMT_SPACE_VMM_IMPORTED)
			return change_references(compactor, memory, event, before->trace);
		memory = gmt_physical_find(physical, event->address);
		if (memory == GMT_PHYSICAL_NONE || !entry_of(compactor, memory))
			return memory == GMT_PHYSICAL_NONE;
		forget_memory(compactor, memory);
		return push_survivor(compactor, memory, event, before->trace);
	case GMT_KIND_FREE:
		if (memory == GMT_PHYSICAL_NONE || !entry_of(compactor, memory))
			return memory == GMT_PHYSICAL_NONE;
		if (is_alive(compactor, memory))
			return change_references(compactor, memory, event, before->trace);
		forget_memory(compactor, memory);
		return true;
	case GMT_KIND_RETAIN:
		return memory == GMT_PHYSICAL_NONE ||
			change_references(compactor, memory, event, before->trace);
	case GMT_KIND_MAP:
		if (memory == GMT_PHYSICAL_NONE || !entry_of(compactor, memory))
			return memory == GMT_PHYSICAL_NONE;
		if (physical->memory.items[memory].size_bytes != before->size_bytes) {
			gmt_compact_drop_survivor(compactor,
				compactor->memories.items[memory].sizing_mapping_plus_1);
			compactor->memories.items[memory].sizing_mapping_plus_1 =
				gmt_compact_add_survivor(compactor, event, before->trace);
			if (!compactor->memories.items[memory].sizing_mapping_plus_1)
				return false;
		}
		return store_mapping(compactor, event->address, event, before->trace);
	case GMT_KIND_BIND:
	case GMT_KIND_BIND_ADDRESS:
		return store_binding(compactor, event, before);
	}
	return true;
}

/* --- queueing for the head ------------------------------------------------------------------- */

bool gmt_compact_queue_survivor(struct gmt_compactor *compactor, uint32_t survivor_plus_1,
	enum gmt_compact_rank rank)
{
	if (!survivor_plus_1)
		return true;
	return gmt_priority_queue_push(&compactor->head,
		(struct gmt_priority_queue_entry){
			.stamp = compactor->survivors.items[survivor_plus_1 - 1].stamp,
			.order = (uint64_t)rank << 32 | (uint32_t)compactor->head.entries.count,
			.item = survivor_plus_1 - 1,
		});
}

/*
 * Queues the mapping that stated the size of imported memory. If that mapping has ended, also
 * queues an unmap.
 */
static bool queue_sizing_mapping(struct gmt_compactor *compactor, uint32_t sizing_mapping_plus_1)
{
	const struct gmt_compact_survivor *map = &compactor->survivors.items[sizing_mapping_plus_1 - 1];
	uint32_t index;
	uint64_t mapping;
	struct gmt_event unmap = {
		.stamp = map->stamp,
		.thread = map->thread,
		.api = map->api,
		.kind = GMT_KIND_UNMAP,
		.layer = map->layer,
		.space = map->space,
		.device = map->device,
		.address = map->address,
		.size_bytes = map->size_bytes,
	};

	if (gmt_map_find(&compactor->interpreter.physical.mapped, map->address, &mapping) &&
		mapping < compactor->mapping_survivors.count &&
		compactor->mapping_survivors.items[mapping] &&
		compactor->survivors.items[compactor->mapping_survivors.items[mapping] - 1].stamp ==
			map->stamp)
		return true;
	if (!gmt_compact_queue_survivor(compactor, sizing_mapping_plus_1, GMT_COMPACT_RANK_MAPPING) ||
		!gmt_compact_intern_trace(compactor, 0, 0, 0, &index))
		return false;
	index = gmt_compact_add_survivor(compactor, &unmap, index);
	return index && gmt_compact_queue_survivor(compactor, index, GMT_COMPACT_RANK_REMOVAL);
}

/* Notes the first stamp at which a surviving mapping keeps this memory alive. */
static void note_use(struct gmt_compactor *compactor, uint32_t memory, uint64_t stamp)
{
	if (memory < compactor->memories.count &&
		stamp < compactor->memories.items[memory].first_use_stamp)
		compactor->memories.items[memory].first_use_stamp = stamp;
}

/*
 * The bind names its memory by the address of a mapping. If that mapping has ended, the handle
 * names the memory instead.
 */
static void name_by_handle(struct gmt_compactor *compactor, struct gmt_compact_survivor *bind,
	uint32_t memory)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;

	if (bind->kind != GMT_KIND_BIND_ADDRESS ||
		gmt_physical_find_mapped(physical, bind->object) == memory)
		return;
	bind->kind = GMT_KIND_BIND;
	bind->object = physical->memory.items[memory].handle;
}

static bool queue_mappings(struct gmt_compactor *compactor)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;

	for (size_t i = 0; i < compactor->memories.count; i++)
		compactor->memories.items[i].first_use_stamp = UINT64_MAX;
	for (size_t i = 0; i < physical->mapped.capacity; i++) {
		const struct gmt_map_slot *slot = &physical->mapped.slots[i];
		struct gmt_compact_survivor *row;
		uint32_t survivor_plus_1, memory;

		if (!slot->value_plus_1 || slot->value_plus_1 - 1 >= compactor->mapping_survivors.count ||
			!compactor->mapping_survivors.items[slot->value_plus_1 - 1])
			continue;
		survivor_plus_1 = compactor->mapping_survivors.items[slot->value_plus_1 - 1];
		row = &compactor->survivors.items[survivor_plus_1 - 1];
		memory = physical->mappings.items[slot->value_plus_1 - 1].memory;
		name_by_handle(compactor, row, memory);
		note_use(compactor, memory, row->stamp);
		if (!gmt_compact_queue_survivor(compactor, survivor_plus_1, GMT_COMPACT_RANK_MAPPING))
			return false;
	}
	return true;
}

/*
 * Delays the removal of references. The mapping that kept the memory alive at that moment may have
 * ended since. So the reference is removed as soon as one of the remaining mappings exists. It is
 * not removed later, because the handle may refer to other memory by then.
 */
static void delay_releases(struct gmt_compactor *compactor, const struct gmt_compact_memory *entry)
{
	for (uint32_t at = entry->last_plus_1; at;
		at = compactor->survivors.items[at - 1].next_plus_1) {
		struct gmt_compact_survivor *row = &compactor->survivors.items[at - 1];

		if (row->kind == GMT_KIND_FREE && row->stamp < entry->first_use_stamp &&
			entry->first_use_stamp != UINT64_MAX)
			row->stamp = entry->first_use_stamp;
	}
}

/* Reverses a list. Returns its new first entry, plus 1. */
static uint32_t reverse_list(const struct gmt_compactor *compactor, uint32_t last_plus_1)
{
	uint32_t first_plus_1 = 0, next_plus_1;

	for (uint32_t at = last_plus_1; at; at = next_plus_1) {
		next_plus_1 = compactor->survivors.items[at - 1].next_plus_1;
		compactor->survivors.items[at - 1].next_plus_1 = first_plus_1;
		first_plus_1 = at;
	}
	return first_plus_1;
}

/*
 * Queues the references in the order in which they happened. The list itself is unchanged
 * afterwards.
 */
static bool queue_references(struct gmt_compactor *compactor,
	const struct gmt_compact_memory *entry)
{
	uint32_t first_plus_1 = reverse_list(compactor, entry->last_plus_1);
	bool done = true;

	for (uint32_t at = first_plus_1; done && at;
		at = compactor->survivors.items[at - 1].next_plus_1)
		done = gmt_compact_queue_survivor(compactor, at,
			compactor->survivors.items[at - 1].kind == GMT_KIND_FREE ? GMT_COMPACT_RANK_REMOVAL
																	 : GMT_COMPACT_RANK_REFERENCE);
	reverse_list(compactor, first_plus_1);
	return done;
}

bool gmt_compact_queue_memory(struct gmt_compactor *compactor)
{
	const struct gmt_physical *physical = &compactor->interpreter.physical;

	if (!queue_mappings(compactor))
		return false;
	for (uint32_t i = 0; i < compactor->memories.count && i < physical->memory.count; i++) {
		if (!is_alive(compactor, i))
			continue;
		const struct gmt_compact_memory entry = compactor->memories.items[i];
		delay_releases(compactor, &entry);
		if (!queue_references(compactor, &entry) ||
			(entry.sizing_mapping_plus_1 &&
				!queue_sizing_mapping(compactor, entry.sizing_mapping_plus_1)))
			return false;
	}
	return true;
}
