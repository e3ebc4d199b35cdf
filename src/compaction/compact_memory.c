/* SPDX-License-Identifier: MIT */
/*
 * What survives of handles and mappings: the events that, played again, make the same state. References that
 * were given back again go in pairs.
 */
#include <stddef.h>

#include "compaction/compact_parts.h"

static bool is_handle(const struct gmt_event *event)
{
	return gmt_layer_family(event->layer) == GMT_FAMILY_CUDA && gmt_space_realm(event->space) == GMT_REALM_HANDLE;
}

/* What of interpret_memory.c says which memory an event means. */
static uint32_t memory_of(const struct gmt_folder *folder, const struct gmt_event *event)
{
	const struct gmt_physical *physical = &folder->player.physical;
	uint32_t memory;

	switch (event->kind) {
	case GMT_KIND_ALLOC:
	case GMT_KIND_FREE:
		return is_handle(event) ? gmt_physical_find(physical, event->address) : GMT_PHYSICAL_NONE;
	case GMT_KIND_RETAIN:
		memory = gmt_physical_find(physical, event->address);
		return memory != GMT_PHYSICAL_NONE ? memory : gmt_physical_find_mapped(physical, event->object);
	case GMT_KIND_MAP:
	case GMT_KIND_BIND:
		return gmt_physical_find(physical, event->object);
	case GMT_KIND_BIND_ADDRESS:
		return gmt_physical_find_mapped(physical, event->object);
	}
	return GMT_PHYSICAL_NONE;
}

void gmt_fold_before(struct gmt_folder *folder, const struct gmt_event *event, uint32_t place,
	struct gmt_fold_before *ret_before)
{
	uint64_t maker;

	*ret_before = (struct gmt_fold_before){ .memory = GMT_PHYSICAL_NONE, .place = place };
	if (gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return;
	ret_before->memory = memory_of(folder, event);
	if (ret_before->memory != GMT_PHYSICAL_NONE)
		ret_before->size_bytes = folder->player.physical.memory.items[ret_before->memory].size_bytes;
	/* Who made a node is who made it in the graph that this executable one is of. */
	if ((event->kind == GMT_KIND_NODE_ALLOC || event->kind == GMT_KIND_NODE_FREE) && event->object &&
		gmt_map_find(&folder->player.node_makers, event->address, &maker))
		ret_before->place = (uint32_t)(maker >> 32);
}

static struct gmt_fold_memory *entry_of(struct gmt_folder *folder, uint32_t memory)
{
	while (folder->memories.count <= memory) {
		struct gmt_fold_memory *slot = gmt_vec_push(&folder->memories);

		if (!slot)
			return NULL;
		*slot = (struct gmt_fold_memory){ 0 };
	}
	return &folder->memories.items[memory];
}

void gmt_fold_forget_list(struct gmt_folder *folder, uint32_t first_plus_1)
{
	while (first_plus_1) {
		uint32_t next = folder->survivors.items[first_plus_1 - 1].next_plus_1;

		gmt_fold_forget(folder, first_plus_1);
		first_plus_1 = next;
	}
}

static bool is_alive(const struct gmt_folder *folder, uint32_t memory)
{
	const struct gmt_physical_memory *about = &folder->player.physical.memory.items[memory];

	return about->references || about->mappings;
}

static void forget_memory(struct gmt_folder *folder, uint32_t memory)
{
	struct gmt_fold_memory *entry = &folder->memories.items[memory];

	gmt_fold_forget_list(folder, entry->last_plus_1);
	gmt_fold_forget(folder, entry->learned_plus_1);
	*entry = (struct gmt_fold_memory){ 0 };
}

/* Puts an event on top of those of the memory. */
static bool append(struct gmt_folder *folder, uint32_t memory, const struct gmt_event *event, uint32_t place)
{
	uint32_t index = gmt_fold_survive(folder, event, place);
	struct gmt_fold_memory *entry = index ? entry_of(folder, memory) : NULL;

	if (!entry)
		return false;
	folder->survivors.items[index - 1].next_plus_1 = entry->last_plus_1;
	entry->last_plus_1 = index;
	return true;
}

/*
 * A reference comes or goes. One that goes takes the one with it that came last, and one that comes the one
 * that went last, where they are of the same handle: mappings kept the memory in between.
 */
static bool refer(struct gmt_folder *folder, uint32_t memory, const struct gmt_event *event, uint32_t place)
{
	struct gmt_fold_memory *entry = entry_of(folder, memory);
	const struct gmt_fold_survivor *last;
	uint32_t last_plus_1;

	if (!entry)
		return false;
	last_plus_1 = entry->last_plus_1;
	last = last_plus_1 ? &folder->survivors.items[last_plus_1 - 1] : NULL;
	/* What made the memory stays. */
	if (!last || !last->next_plus_1 || last->address != event->address ||
		(last->kind == GMT_KIND_FREE) == (event->kind == GMT_KIND_FREE))
		return append(folder, memory, event, place);
	entry->last_plus_1 = last->next_plus_1;
	gmt_fold_forget(folder, last_plus_1);
	return true;
}

/* Remembers what made the mapping at this key. */
static bool tie(struct gmt_folder *folder, uint64_t key, const struct gmt_event *event, uint32_t place)
{
	uint64_t index;

	if (!gmt_map_find(&folder->player.physical.mapped, key, &index))
		return true;
	while (folder->ties.count <= index) {
		uint32_t *slot = gmt_vec_push(&folder->ties);

		if (!slot)
			return false;
		*slot = 0;
	}
	gmt_fold_forget(folder, folder->ties.items[index]);
	folder->ties.items[index] = gmt_fold_survive(folder, event, place);
	return folder->ties.items[index];
}

static bool tie_bound(struct gmt_folder *folder, const struct gmt_event *event, const struct gmt_fold_before *before)
{
	const struct gmt_physical *physical = &folder->player.physical;
	uint32_t multicast = gmt_physical_find(physical, event->address);
	struct gmt_event bound = *event;

	if (multicast == GMT_PHYSICAL_NONE || before->memory == GMT_PHYSICAL_NONE)
		return true;
	bound.device = event->device >= 0 ? event->device : physical->memory.items[before->memory].device;
	return tie(folder, gmt_physical_multicast_key(multicast, bound.device, event->stream), &bound, before->place);
}

bool gmt_fold_after_memory(struct gmt_folder *folder, const struct gmt_event *event,
	const struct gmt_fold_before *before)
{
	const struct gmt_physical *physical = &folder->player.physical;
	uint32_t memory = before->memory;

	switch (event->kind) {
	case GMT_KIND_ALLOC:
		/* Imported once more, or made. */
		if (memory != GMT_PHYSICAL_NONE && event->space == GMT_SPACE_VMM_IMPORTED)
			return refer(folder, memory, event, before->place);
		memory = gmt_physical_find(physical, event->address);
		if (memory == GMT_PHYSICAL_NONE || !entry_of(folder, memory))
			return memory == GMT_PHYSICAL_NONE;
		forget_memory(folder, memory);
		return append(folder, memory, event, before->place);
	case GMT_KIND_FREE:
		if (memory == GMT_PHYSICAL_NONE || !entry_of(folder, memory))
			return memory == GMT_PHYSICAL_NONE;
		if (is_alive(folder, memory))
			return refer(folder, memory, event, before->place);
		forget_memory(folder, memory);
		return true;
	case GMT_KIND_RETAIN:
		return memory == GMT_PHYSICAL_NONE || refer(folder, memory, event, before->place);
	case GMT_KIND_MAP:
		if (memory == GMT_PHYSICAL_NONE || !entry_of(folder, memory))
			return memory == GMT_PHYSICAL_NONE;
		if (physical->memory.items[memory].size_bytes != before->size_bytes) {
			gmt_fold_forget(folder, folder->memories.items[memory].learned_plus_1);
			folder->memories.items[memory].learned_plus_1 = gmt_fold_survive(folder, event, before->place);
			if (!folder->memories.items[memory].learned_plus_1)
				return false;
		}
		return tie(folder, event->address, event, before->place);
	case GMT_KIND_BIND:
	case GMT_KIND_BIND_ADDRESS:
		return tie_bound(folder, event, before);
	}
	return true;
}

/* --- for the head ------------------------------------------------------------------------------------- */

bool gmt_fold_list(struct gmt_folder *folder, uint32_t survivor_plus_1, uint64_t rank)
{
	if (!survivor_plus_1)
		return true;
	return gmt_queue_push(&folder->head, (struct gmt_queue_entry){
		.stamp = folder->survivors.items[survivor_plus_1 - 1].stamp,
		.order = rank << 32 | (uint32_t)folder->head.entries.count, .item = survivor_plus_1 - 1,
	});
}

/* The mapping that said how large imported memory is, and its end where it has gone. */
static bool list_learned(struct gmt_folder *folder, uint32_t learned_plus_1)
{
	const struct gmt_fold_survivor *map = &folder->survivors.items[learned_plus_1 - 1];
	uint32_t index;
	uint64_t mapping;
	struct gmt_event unmap = {
		.stamp = map->stamp, .thread = map->thread, .api = map->api, .kind = GMT_KIND_UNMAP, .layer = map->layer,
		.space = map->space, .device = map->device, .address = map->address, .size_bytes = map->size_bytes,
	};

	if (gmt_map_find(&folder->player.physical.mapped, map->address, &mapping) && mapping < folder->ties.count &&
		folder->ties.items[mapping] &&
		folder->survivors.items[folder->ties.items[mapping] - 1].stamp == map->stamp)
		return true;
	if (!gmt_fold_list(folder, learned_plus_1, 4) || !gmt_fold_place(folder, 0, 0, 0, &index))
		return false;
	index = gmt_fold_survive(folder, &unmap, index);
	return index && gmt_fold_list(folder, index, 5);
}

/* The first moment at which a mapping that survives keeps this memory. */
static void see_use(struct gmt_folder *folder, uint32_t memory, uint64_t stamp)
{
	if (memory < folder->memories.count && stamp < folder->memories.items[memory].first_use)
		folder->memories.items[memory].first_use = stamp;
}

/* Memory that was found by where it was mapped: where that mapping has gone, its handle says it as well. */
static void name_by_handle(struct gmt_folder *folder, struct gmt_fold_survivor *bind, uint32_t memory)
{
	const struct gmt_physical *physical = &folder->player.physical;

	if (bind->kind != GMT_KIND_BIND_ADDRESS || gmt_physical_find_mapped(physical, bind->object) == memory)
		return;
	bind->kind = GMT_KIND_BIND;
	bind->object = physical->memory.items[memory].handle;
}

static bool list_mappings(struct gmt_folder *folder)
{
	const struct gmt_physical *physical = &folder->player.physical;

	for (size_t i = 0; i < folder->memories.count; i++)
		folder->memories.items[i].first_use = UINT64_MAX;
	for (size_t i = 0; i < physical->mapped.capacity; i++) {
		const struct gmt_map_slot *slot = &physical->mapped.slots[i];
		struct gmt_fold_survivor *row;
		uint32_t tie, memory;

		if (!slot->value_plus_1 || slot->value_plus_1 - 1 >= folder->ties.count ||
			!folder->ties.items[slot->value_plus_1 - 1])
			continue;
		tie = folder->ties.items[slot->value_plus_1 - 1];
		row = &folder->survivors.items[tie - 1];
		memory = physical->mappings.items[slot->value_plus_1 - 1].memory;
		name_by_handle(folder, row, memory);
		see_use(folder, memory, row->stamp);
		if (!gmt_fold_list(folder, tie, 4))
			return false;
	}
	return true;
}

/*
 * What kept memory alive when its reference went may have gone since: the reference goes once one of the
 * mappings that are left is there. No later: the handle may mean other memory by then.
 */
static void delay_releases(struct gmt_folder *folder, const struct gmt_fold_memory *entry)
{
	for (uint32_t at = entry->last_plus_1; at; at = folder->survivors.items[at - 1].next_plus_1) {
		struct gmt_fold_survivor *row = &folder->survivors.items[at - 1];

		if (row->kind == GMT_KIND_FREE && row->stamp < entry->first_use && entry->first_use != UINT64_MAX)
			row->stamp = entry->first_use;
	}
}

/* Turns a list around. Returns its first entry now, plus 1. */
static uint32_t turn(const struct gmt_folder *folder, uint32_t last_plus_1)
{
	uint32_t first_plus_1 = 0, next_plus_1;

	for (uint32_t at = last_plus_1; at; at = next_plus_1) {
		next_plus_1 = folder->survivors.items[at - 1].next_plus_1;
		folder->survivors.items[at - 1].next_plus_1 = first_plus_1;
		first_plus_1 = at;
	}
	return first_plus_1;
}

/* In the order in which they happened. The list is as it was afterwards. */
static bool list_references(struct gmt_folder *folder, const struct gmt_fold_memory *entry)
{
	uint32_t first_plus_1 = turn(folder, entry->last_plus_1);
	bool done = true;

	for (uint32_t at = first_plus_1; done && at; at = folder->survivors.items[at - 1].next_plus_1)
		done = gmt_fold_list(folder, at, folder->survivors.items[at - 1].kind == GMT_KIND_FREE ? 5 : 2);
	turn(folder, first_plus_1);
	return done;
}

bool gmt_fold_list_memory(struct gmt_folder *folder)
{
	const struct gmt_physical *physical = &folder->player.physical;

	if (!list_mappings(folder))
		return false;
	for (uint32_t i = 0; i < folder->memories.count && i < physical->memory.count; i++) {
		if (!is_alive(folder, i))
			continue;
		const struct gmt_fold_memory entry = folder->memories.items[i];
		delay_releases(folder, &entry);
		if (!list_references(folder, &entry) ||
			(entry.learned_plus_1 && !list_learned(folder, entry.learned_plus_1)))
			return false;
	}
	return true;
}
