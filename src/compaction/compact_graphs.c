/* SPDX-License-Identifier: MIT */
/* What survives of graphs, of the program's heaps, and of things without memory. */
#include <stddef.h>

#include "compaction/compact_parts.h"

static bool is_handle(const struct gmt_event *event)
{
	return gmt_layer_family(event->layer) == GMT_FAMILY_CUDA && gmt_space_realm(event->space) == GMT_REALM_HANDLE;
}

static void forget_graph(struct gmt_folder *folder, size_t index)
{
	struct gmt_fold_graph *graph = &folder->graphs.items[index];

	gmt_fold_forget(folder, graph->created_plus_1);
	gmt_fold_forget_list(folder, graph->first_node_plus_1);
	*graph = (struct gmt_fold_graph){ 0 };
}

static bool create_graph(struct gmt_folder *folder, const struct gmt_event *event, uint32_t place)
{
	uint64_t index;

	if (gmt_map_find(&folder->graphs_ids, event->address, &index)) {
		forget_graph(folder, index);
	} else {
		bool again = folder->free_graphs.count;

		index = again ? folder->free_graphs.items[--folder->free_graphs.count] : folder->graphs.count;
		if (!gmt_vec_reserve(&folder->graphs, 1) || !gmt_map_put(&folder->graphs_ids, event->address, index))
			return false;
		folder->graphs.count += !again;
		folder->graphs.items[index] = (struct gmt_fold_graph){ 0 };
	}
	folder->graphs.items[index].created_plus_1 = gmt_fold_survive(folder, event, place);
	return folder->graphs.items[index].created_plus_1;
}

static bool destroy_graph(struct gmt_folder *folder, const struct gmt_event *event)
{
	uint32_t *slot;
	uint64_t index;

	if (!gmt_map_remove(&folder->graphs_ids, event->address, &index))
		return true;
	forget_graph(folder, index);
	slot = gmt_vec_push(&folder->free_graphs);
	if (slot)
		*slot = (uint32_t)index;
	return slot;
}

/* Replaces what `map` has for `key`. */
static bool keep_by(struct gmt_folder *folder, struct gmt_map *map, uint64_t key, const struct gmt_event *event,
	uint32_t place)
{
	uint32_t survivor = gmt_fold_survive(folder, event, place);
	uint64_t older;

	if (!survivor)
		return false;
	if (gmt_map_find(map, key, &older))
		gmt_fold_forget(folder, (uint32_t)older);
	return gmt_map_put(map, key, survivor);
}

static void drop_by(struct gmt_folder *folder, struct gmt_map *map, uint64_t key)
{
	uint64_t older;

	if (gmt_map_remove(map, key, &older))
		gmt_fold_forget(folder, (uint32_t)older);
}

static bool add_node(struct gmt_folder *folder, const struct gmt_event *event, uint32_t place)
{
	struct gmt_fold_graph *graph;
	uint64_t index;
	uint32_t node;

	if (!event->object)
		return event->kind != GMT_KIND_NODE_ALLOC ||
			keep_by(folder, &folder->loose_nodes, event->address, event, place);
	if (!gmt_map_find(&folder->graphs_ids, event->object, &index))
		return true;
	node = gmt_fold_survive(folder, event, place);
	if (!node)
		return false;
	graph = &folder->graphs.items[index];
	if (graph->last_node_plus_1)
		folder->survivors.items[graph->last_node_plus_1 - 1].next_plus_1 = node;
	else
		graph->first_node_plus_1 = node;
	graph->last_node_plus_1 = node;
	return true;
}

/* --- things without memory, heaps --------------------------------------------------------------------- */

static uint64_t thing_key(const struct gmt_event *event)
{
	return event->address ^ (uint64_t)event->space << 56;
}

/* A heap lives from its first event on, whether or not that made it. */
static bool after_heap(struct gmt_folder *folder, const struct gmt_event *event, uint32_t place)
{
	uint64_t number = event->object, index, before;
	struct gmt_event made = *event;
	bool lives = gmt_map_find(&folder->player.pool_ids, number, &index) && folder->player.pools.items[index].lives;
	bool known = gmt_map_find(&folder->heap_events, number, &before);

	if (!lives) {
		drop_by(folder, &folder->heap_events, number);
		return true;
	}
	if (known)
		return true;
	made.kind = GMT_KIND_CREATE;
	made.address = 0;
	return keep_by(folder, &folder->heap_events, number, &made, place);
}

bool gmt_fold_after(struct gmt_folder *folder, const struct gmt_event *event, const struct gmt_fold_before *before)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return after_heap(folder, event, before->place);
	if (gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return true;
	switch (event->kind) {
	case GMT_KIND_CREATE:
		return event->space == GMT_SPACE_GRAPH ? create_graph(folder, event, before->place) :
			keep_by(folder, &folder->things, thing_key(event), event, before->place);
	case GMT_KIND_DESTROY:
		if (event->space == GMT_SPACE_GRAPH)
			return destroy_graph(folder, event);
		drop_by(folder, &folder->things, thing_key(event));
		return true;
	case GMT_KIND_NODE_ALLOC:
	case GMT_KIND_NODE_FREE:
		return add_node(folder, event, before->place);
	case GMT_KIND_ALLOC:
	case GMT_KIND_FREE:
		return !is_handle(event) || gmt_fold_after_memory(folder, event, before);
	}
	return gmt_fold_after_memory(folder, event, before);
}

/* --- for the head ------------------------------------------------------------------------------------- */

static bool list_all(struct gmt_folder *folder, uint32_t first_plus_1, uint64_t rank)
{
	for (uint32_t at = first_plus_1; at; at = folder->survivors.items[at - 1].next_plus_1)
		if (!gmt_fold_list(folder, at, rank))
			return false;
	return true;
}

static bool list_map(struct gmt_folder *folder, const struct gmt_map *map, uint64_t rank)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value_plus_1 && !gmt_fold_list(folder, (uint32_t)(map->slots[i].value_plus_1 - 1), rank))
			return false;
	return true;
}

/* A heap's size is the one that it has now. */
static bool list_heaps(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->heap_events.capacity; i++) {
		const struct gmt_map_slot *slot = &folder->heap_events.slots[i];
		uint64_t index;

		if (!slot->value_plus_1 || !gmt_map_find(&folder->player.pool_ids, slot->key, &index))
			continue;
		folder->survivors.items[slot->value_plus_1 - 2].size_bytes = folder->player.pools.items[index].size_bytes;
		if (!gmt_fold_list(folder, (uint32_t)(slot->value_plus_1 - 1), 0))
			return false;
	}
	return true;
}

bool gmt_fold_list_graphs(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->graphs.count; i++)
		if (!gmt_fold_list(folder, folder->graphs.items[i].created_plus_1, 0) ||
			!list_all(folder, folder->graphs.items[i].first_node_plus_1, 1))
			return false;
	return list_map(folder, &folder->loose_nodes, 1) && list_map(folder, &folder->things, 0) && list_heaps(folder);
}
