/* SPDX-License-Identifier: MIT */
/* Survivors of graphs, of custom heaps, and of objects without memory. */
#include <stddef.h>

#include "compaction/compact_internal.h"

static void forget_graph(struct gmt_compactor *compactor, size_t index)
{
	struct gmt_compact_graph *graph = &compactor->graphs.items[index];

	gmt_compact_drop_survivor(compactor, graph->created_plus_1);
	gmt_compact_forget_list(compactor, graph->first_node_plus_1);
	*graph = (struct gmt_compact_graph){ 0 };
}

static bool create_graph(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace)
{
	uint64_t index;

	if (gmt_map_find(&compactor->graph_ids, event->address, &index)) {
		forget_graph(compactor, index);
	} else {
		bool again = compactor->free_graphs.count;

		index = again ? compactor->free_graphs.items[--compactor->free_graphs.count]
					  : compactor->graphs.count;
		if (!gmt_vec_reserve(&compactor->graphs, 1) ||
			!gmt_map_put(&compactor->graph_ids, event->address, index))
			return false;
		compactor->graphs.count += !again;
		compactor->graphs.items[index] = (struct gmt_compact_graph){ 0 };
	}
	compactor->graphs.items[index].created_plus_1 =
		gmt_compact_add_survivor(compactor, event, trace);
	return compactor->graphs.items[index].created_plus_1;
}

static bool destroy_graph(struct gmt_compactor *compactor, const struct gmt_event *event)
{
	uint32_t *slot;
	uint64_t index;

	if (!gmt_map_remove(&compactor->graph_ids, event->address, &index))
		return true;
	forget_graph(compactor, index);
	slot = gmt_vec_push(&compactor->free_graphs);
	if (slot)
		*slot = (uint32_t)index;
	return slot;
}

/* Replaces the survivor that `map` has for `key`. */
static bool replace_survivor(struct gmt_compactor *compactor, struct gmt_map *map, uint64_t key,
	const struct gmt_event *event, uint32_t trace)
{
	uint32_t survivor = gmt_compact_add_survivor(compactor, event, trace);
	uint64_t older;

	if (!survivor)
		return false;
	if (gmt_map_find(map, key, &older))
		gmt_compact_drop_survivor(compactor, (uint32_t)older);
	return gmt_map_put(map, key, survivor);
}

static void drop_survivor_of(struct gmt_compactor *compactor, struct gmt_map *map, uint64_t key)
{
	uint64_t older;

	if (gmt_map_remove(map, key, &older))
		gmt_compact_drop_survivor(compactor, (uint32_t)older);
}

static bool add_node(struct gmt_compactor *compactor, const struct gmt_event *event, uint32_t trace)
{
	struct gmt_compact_graph *graph;
	uint64_t index;
	uint32_t node;

	if (!event->object)
		return event->kind != GMT_KIND_NODE_ALLOC ||
			replace_survivor(compactor, &compactor->unlaunched_nodes, event->address, event, trace);
	if (!gmt_map_find(&compactor->graph_ids, event->object, &index))
		return true;
	node = gmt_compact_add_survivor(compactor, event, trace);
	if (!node)
		return false;
	graph = &compactor->graphs.items[index];
	if (graph->last_node_plus_1)
		compactor->survivors.items[graph->last_node_plus_1 - 1].next_plus_1 = node;
	else
		graph->first_node_plus_1 = node;
	graph->last_node_plus_1 = node;
	return true;
}

/* --- objects without memory, heaps ----------------------------------------------------------- */

static uint64_t object_key(const struct gmt_event *event)
{
	return event->address ^ (uint64_t)event->space << 56;
}

/* A heap lives from its first event on, whether or not that event created it. */
static bool after_heap_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	uint32_t trace)
{
	uint64_t number = event->object, index, before;
	struct gmt_event made = *event;
	bool is_live = gmt_map_find(&compactor->interpreter.heap_ids, number, &index) &&
		compactor->interpreter.heaps.items[index].is_live;
	bool known = gmt_map_find(&compactor->heap_events, number, &before);

	if (!is_live) {
		drop_survivor_of(compactor, &compactor->heap_events, number);
		return true;
	}
	if (known)
		return true;
	made.kind = GMT_KIND_CREATE;
	made.address = 0;
	return replace_survivor(compactor, &compactor->heap_events, number, &made, trace);
}

bool gmt_compact_after_event(struct gmt_compactor *compactor, const struct gmt_event *event,
	const struct gmt_compact_before *before)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return after_heap_event(compactor, event, before->trace);
	if (gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return true;
	switch (event->kind) {
	case GMT_KIND_CREATE:
		return event->space == GMT_SPACE_GRAPH
			? create_graph(compactor, event, before->trace)
			: replace_survivor(compactor, &compactor->objects_by_key, object_key(event), event,
				  before->trace);
	case GMT_KIND_DESTROY:
		if (event->space == GMT_SPACE_GRAPH)
			return destroy_graph(compactor, event);
		drop_survivor_of(compactor, &compactor->objects_by_key, object_key(event));
		return true;
	case GMT_KIND_NODE_ALLOC:
	case GMT_KIND_NODE_FREE:
		return add_node(compactor, event, before->trace);
	case GMT_KIND_ALLOC:
	case GMT_KIND_FREE:
		return !gmt_has_handles(event->layer, event->space) ||
			gmt_compact_after_memory_event(compactor, event, before);
	}
	return gmt_compact_after_memory_event(compactor, event, before);
}

/* --- queueing for the head ------------------------------------------------------------------ */

static bool queue_list(struct gmt_compactor *compactor, uint32_t first_plus_1,
	enum gmt_compact_rank rank)
{
	for (uint32_t at = first_plus_1; at; at = compactor->survivors.items[at - 1].next_plus_1)
		if (!gmt_compact_queue_survivor(compactor, at, rank))
			return false;
	return true;
}

static bool queue_map(struct gmt_compactor *compactor, const struct gmt_map *map,
	enum gmt_compact_rank rank)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value_plus_1 &&
			!gmt_compact_queue_survivor(compactor, (uint32_t)(map->slots[i].value_plus_1 - 1),
				rank))
			return false;
	return true;
}

/* The survivor of a heap takes the heap's current size. */
static bool queue_heaps(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->heap_events.capacity; i++) {
		const struct gmt_map_slot *slot = &compactor->heap_events.slots[i];
		uint64_t index;

		if (!slot->value_plus_1 ||
			!gmt_map_find(&compactor->interpreter.heap_ids, slot->key, &index))
			continue;
		compactor->survivors.items[slot->value_plus_1 - 2].size_bytes =
			compactor->interpreter.heaps.items[index].size_bytes;
		if (!gmt_compact_queue_survivor(compactor, (uint32_t)(slot->value_plus_1 - 1),
				GMT_COMPACT_RANK_OBJECT))
			return false;
	}
	return true;
}

bool gmt_compact_queue_graphs(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->graphs.count; i++)
		if (!gmt_compact_queue_survivor(compactor, compactor->graphs.items[i].created_plus_1,
				GMT_COMPACT_RANK_OBJECT) ||
			!queue_list(compactor, compactor->graphs.items[i].first_node_plus_1,
				GMT_COMPACT_RANK_NODE))
			return false;
	return queue_map(compactor, &compactor->unlaunched_nodes, GMT_COMPACT_RANK_NODE) &&
		queue_map(compactor, &compactor->objects_by_key, GMT_COMPACT_RANK_OBJECT) &&
		queue_heaps(compactor);
}
