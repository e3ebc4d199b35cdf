/* SPDX-License-Identifier: MIT */
/*
 * Memory nodes of graphs. A node's block has a fixed address, but it has memory only after a launch
 * of the graph. If another node of the same graph frees it, the memory is gone when the launch
 * ends. Such memory is never a block here. Other node memory lives until a free, or until another
 * graph frees it. A graph that was instantiated to free it at launch also ends it at its next
 * launch.
 */
#include <stddef.h>

#include "base/budget.h"
#include "accounting/interpret_internal.h"

enum { MAX_NODES_WITHOUT_MAP = 16 }; /* a graph with at most this many nodes needs no map */
/* above this number of nodes, their blocks no longer fit in the CPU caches */
enum { MANY_NODES = 4096, BUDGET_UNITS_IF_MANY = 6 };
enum { FREES_AT_LAUNCH = 1 }; /* CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH */

bool gmt_interpret_instantiate(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint64_t flags = event->object;
	struct gmt_interpret_graph *graph;
	uint64_t index;

	if (!gmt_map_find(&interpreter->graph_ids, event->address, &index)) {
		index = interpreter->free_graph_plus_1 ? interpreter->free_graph_plus_1 - 1
											   : interpreter->graphs.count;
		if (!gmt_vec_reserve(&interpreter->graphs, 1) ||
			!gmt_map_put(&interpreter->graph_ids, event->address, index))
			return false;
		if (interpreter->free_graph_plus_1)
			interpreter->free_graph_plus_1 = interpreter->graphs.items[index].next_free_plus_1;
		else
			gmt_vec_push(&interpreter->graphs);
	}
	graph = &interpreter->graphs.items[index];
	graph->nodes.count = 0;
	gmt_map_fini(&graph->allocs);
	graph->frees_at_launch = flags & FREES_AT_LAUNCH;
	return true;
}

static struct gmt_interpret_node *find_alloc(struct gmt_interpret_graph *graph, uint64_t address)
{
	uint64_t index;

	if (graph->nodes.count > MAX_NODES_WITHOUT_MAP)
		return gmt_map_find(&graph->allocs, address, &index) ? &graph->nodes.items[index] : NULL;
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.items[i].is_alloc && graph->nodes.items[i].address == address)
			return &graph->nodes.items[i];
	return NULL;
}

/* Adds the nodes from index `first` on to the map of allocation nodes. */
static bool map_allocs(struct gmt_interpret_graph *graph, size_t first)
{
	uint64_t index;

	for (size_t i = first; i < graph->nodes.count; i++)
		if (graph->nodes.items[i].is_alloc &&
			!gmt_map_find(&graph->allocs, graph->nodes.items[i].address, &index) &&
			!gmt_map_put(&graph->allocs, graph->nodes.items[i].address, i))
			return false;
	return true;
}

/*
 * Remembers which call made a node of a graph that is not executable yet. The executable graph's
 * node takes its stack and tag from there.
 */
static bool store_creator(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	return event->kind != GMT_KIND_NODE_ALLOC ||
		gmt_map_put(&interpreter->node_creators, event->address,
			(uint64_t)event->stack << 32 | event->tag);
}

bool gmt_interpret_add_node(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint64_t object = event->object;
	struct gmt_interpret_node node = {
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stack = event->stack,
		.tag = event->tag,
		.device = event->device,
		.is_alloc = event->kind == GMT_KIND_NODE_ALLOC,
	};
	struct gmt_interpret_node *slot, *made;
	struct gmt_interpret_graph *graph;
	uint64_t index, creator;

	if (!object)
		return store_creator(interpreter, event);
	if (!gmt_map_find(&interpreter->graph_ids, object, &index))
		return true;
	graph = &interpreter->graphs.items[index];
	if (gmt_map_find(&interpreter->node_creators, event->address, &creator)) {
		node.stack = (uint32_t)(creator >> 32);
		node.tag = (uint32_t)creator;
	}
	made = node.is_alloc ? NULL : find_alloc(graph, event->address);
	if (made) {
		made->is_freed_inside = true;
		return true;
	}
	slot = gmt_vec_push(&graph->nodes);
	if (!slot)
		return false;
	*slot = node;
	if (graph->nodes.count <= MAX_NODES_WITHOUT_MAP)
		return true;
	return map_allocs(graph,
		graph->nodes.count == MAX_NODES_WITHOUT_MAP + 1 ? 0 : graph->nodes.count - 1);
}

static bool free_node(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, const struct gmt_interpret_node *node)
{
	uint32_t site;

	return gmt_interpret_free(interpreter, event, GMT_LAYER_CUDA, GMT_SPACE_GRAPH, node->address, 0,
		&site);
}

static bool alloc_node(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, const struct gmt_interpret_node *node)
{
	struct gmt_interpret_event block = *event;

	block.kind = GMT_KIND_ALLOC;
	block.layer = GMT_LAYER_CUDA;
	block.space = GMT_SPACE_GRAPH;
	block.device = node->device;
	block.stack = node->stack;
	block.tag = node->tag;
	block.address = node->address;
	block.size_bytes = node->size_bytes;
	block.object = block.offset = 0;
	block.context = 0;
	block.has_totals = false;
	return gmt_interpret_alloc(interpreter, &block);
}

bool gmt_interpret_launch(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	const struct gmt_accounting *accounting = interpreter->accounting;
	struct gmt_interpret_graph *graph;
	uint64_t index;
	bool done = true;

	if (!gmt_map_find(&interpreter->graph_ids, event->address, &index))
		return true;
	graph = &interpreter->graphs.items[index];
	/* The budget limits the work: a file of N bytes can launch N nodes N times. */
	if (!gmt_budget_spend_work(graph->nodes.count *
				(graph->nodes.count > MANY_NODES ? BUDGET_UNITS_IF_MANY : 1),
			GMT_BUDGET_LAUNCHES))
		return true;
	for (size_t i = 0; i < graph->nodes.count && done; i++) {
		const struct gmt_interpret_node *node = &graph->nodes.items[i];

		if (!node->is_alloc ||
			(graph->frees_at_launch &&
				gmt_accounting_find(accounting, GMT_LAYER_CUDA, GMT_SPACE_GRAPH, node->address)))
			done = free_node(interpreter, event, node);
	}
	for (size_t i = 0; i < graph->nodes.count && done; i++) {
		const struct gmt_interpret_node *node = &graph->nodes.items[i];

		if (node->is_alloc && !node->is_freed_inside)
			done = alloc_node(interpreter, event, node);
	}
	return done;
}

void gmt_interpret_forget_graph(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	struct gmt_interpret_graph *graph;
	uint64_t index;

	if (!gmt_map_remove(&interpreter->graph_ids, event->address, &index))
		return;
	graph = &interpreter->graphs.items[index];
	gmt_vec_fini(&graph->nodes);
	gmt_map_fini(&graph->allocs);
	graph->next_free_plus_1 = interpreter->free_graph_plus_1;
	interpreter->free_graph_plus_1 = (uint32_t)index + 1;
}

void gmt_interpret_forget_graphs(struct gmt_event_interpreter *interpreter)
{
	for (size_t i = 0; i < interpreter->graphs.count; i++) {
		gmt_vec_fini(&interpreter->graphs.items[i].nodes);
		gmt_map_fini(&interpreter->graphs.items[i].allocs);
	}
	gmt_vec_fini(&interpreter->graphs);
	gmt_map_fini(&interpreter->graph_ids);
	gmt_map_fini(&interpreter->node_creators);
}
