/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <stdlib.h>

/*
 * Graphs as objects: creation, copy and destruction, and changes to their nodes. graph_launch.c
 * contains the launch.
 */

struct CUgraph_st *sim_graph_new(void)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));
	struct sim_graph_family *family = calloc(1, sizeof(*family));

	if (!graph || !family) {
		free(graph);
		free(family);
		return NULL;
	}
	family->references = 1;
	graph->family = family;
	return graph;
}

struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->type = type;
	node->graph = graph;
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	graph->node_count++;
	return node;
}

bool sim_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *from,
	const CUgraphEdgeData *data)
{
	struct sim_graph_edge *edges = realloc(node->edges, (node->edge_count + 1) * sizeof(*edges));

	if (!edges)
		return false;
	node->edges = edges;
	edges[node->edge_count++] =
		(struct sim_graph_edge){ from, data ? *data : (CUgraphEdgeData){ 0 } };
	return true;
}

struct CUgraphNode_st *sim_graph_append(struct CUgraph_st *graph, CUgraphNodeType type)
{
	struct CUgraphNode_st *previous = graph->last;
	struct CUgraphNode_st *node = sim_graph_add(graph, type);

	if (node && previous && !sim_graph_depend(node, previous, NULL)) {
		sim_graph_remove_last(graph);
		return NULL;
	}
	return node;
}

/* Frees a node that is in no list. The caller holds no lock. */
static void node_free(struct CUgraphNode_st *node)
{
	if (node->memory) {
		sim_lock();
		sim_graph_memory_release(node->memory);
		sim_unlock();
	}
	for (unsigned int i = 0; i < node->body_count; i++)
		sim_graph_free(node->bodies[i]);
	free(node->bodies);
	free(node->edges);
	free(node);
}

void sim_graph_remove_last(struct CUgraph_st *graph)
{
	struct CUgraphNode_st *node = graph->last, *previous = NULL;

	for (struct CUgraphNode_st *other = graph->first; other != node; other = other->next)
		previous = other;
	if (previous)
		previous->next = NULL;
	else
		graph->first = NULL;
	graph->last = previous;
	graph->node_count--;
	free(node->edges);
	free(node);
}

void sim_graph_free(struct CUgraph_st *graph)
{
	for (struct CUgraphNode_st *node = graph->first, *next; node; node = next) {
		next = node->next;
		node_free(node);
	}
	for (struct sim_condition *condition = graph->conditions, *next; condition; condition = next) {
		next = condition->next;
		free(condition);
	}
	sim_graph_free_user_objects(graph);
	sim_lock();
	bool is_last = --graph->family->references == 0;
	if (is_last)
		sim_graph_memory_forget_family(graph->family);
	sim_unlock();
	if (is_last)
		free(graph->family);
	free(graph);
}

bool sim_graph_has_type(const struct CUgraph_st *graph, CUgraphNodeType type)
{
	for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		if (node->type == type)
			return true;
		for (unsigned int i = 0; i < node->body_count; i++)
			if (sim_graph_has_type(node->bodies[i], type))
				return true;
	}
	return false;
}

bool sim_graph_has_memory(const struct CUgraph_st *graph)
{
	return sim_graph_has_type(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
		sim_graph_has_type(graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

/* --- copies ----------------------------------------------------------------------------------- */

static bool copy_bodies(const struct CUgraphNode_st *node, bool is_of_family)
{
	struct CUgraphNode_st *counterpart = node->counterpart;

	if (node->body_count == 0)
		return true;
	counterpart->bodies = calloc(node->body_count, sizeof(struct CUgraph_st *));
	if (!counterpart->bodies)
		return false;
	for (unsigned int i = 0; i < node->body_count; i++) {
		counterpart->bodies[i] = sim_graph_copy(node->bodies[i], is_of_family);
		if (!counterpart->bodies[i])
			return false;
		counterpart->bodies[i]->container = counterpart;
		counterpart->body_count = i + 1;
	}
	return true;
}

/* Copies the node after all its dependencies. In most graphs these have already been copied. */
static bool copy_node(struct CUgraphNode_st *node, struct CUgraph_st *copy, bool is_of_family)
{
	if (node->counterpart)
		return true;
	for (size_t i = 0; i < node->edge_count; i++)
		if (!copy_node(node->edges[i].from, copy, is_of_family))
			return false;
	struct CUgraphNode_st *counterpart = sim_graph_add(copy, node->type);
	if (!counterpart)
		return false;
	*counterpart = *node;
	counterpart->next = NULL;
	counterpart->graph = copy;
	counterpart->original = node;
	counterpart->edges = NULL;
	counterpart->edge_count = 0;
	counterpart->bodies = NULL;
	counterpart->body_count = 0;
	node->counterpart = counterpart;
	if (node->memory) {
		sim_lock();
		node->memory->references++;
		sim_unlock();
	}
	for (size_t i = 0; i < node->edge_count; i++)
		if (!sim_graph_depend(counterpart, node->edges[i].from->counterpart, &node->edges[i].data))
			return false;
	return copy_bodies(node, is_of_family);
}

static bool copy_conditions(struct CUgraph_st *copy, const struct CUgraph_st *graph)
{
	for (const struct sim_condition *condition = graph->conditions; condition;
		condition = condition->next) {
		struct sim_condition *counterpart = malloc(sizeof(*counterpart));
		if (!counterpart)
			return false;
		*counterpart = *condition;
		counterpart->next = copy->conditions;
		copy->conditions = counterpart;
	}
	return true;
}

struct CUgraph_st *sim_graph_copy(struct CUgraph_st *graph, bool is_of_family)
{
	struct CUgraph_st *copy = sim_graph_new();
	if (!copy)
		return NULL;

	for (struct CUgraphNode_st *node = graph->first; node; node = node->next)
		node->counterpart = NULL;
	bool is_valid = copy_conditions(copy, graph);
	for (struct CUgraphNode_st *node = graph->first; node && is_valid; node = node->next)
		is_valid = copy_node(node, copy, is_of_family);
	is_valid = is_valid && sim_graph_share_user_objects(copy, graph);
	if (!is_valid) {
		sim_graph_free(copy);
		return NULL;
	}
	if (is_of_family) {
		free(copy->family);
		copy->family = graph->family;
		sim_lock();
		copy->family->references++;
		sim_unlock();
	}
	return copy;
}

/* --- handles ---------------------------------------------------------------------------------- */

CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	if (!ret_graph || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = sim_graph_new();
	return *ret_graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	/* A graph inside a node belongs to the node. */
	if (!graph || graph->container)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *ret_clone, CUgraph original)
{
	if (!ret_clone || !original)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_memory(original) ||
		sim_graph_has_type(original, CU_GRAPH_NODE_TYPE_CONDITIONAL))
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_clone = sim_graph_copy(original, false);
	return *ret_clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
	if (!ret_node || !original || !clone)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct CUgraphNode_st *node = clone->first; node; node = node->next) {
		if (node->original == original) {
			*ret_node = node;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Removes a node from its graph. No node depends on it. */
static void unlink_node(struct CUgraphNode_st *node)
{
	struct CUgraph_st *graph = node->graph;
	struct CUgraphNode_st *last = NULL;

	for (struct CUgraphNode_st **link = &graph->first; *link;) {
		struct CUgraphNode_st *other = *link;
		if (other == node) {
			*link = node->next;
			continue;
		}
		size_t kept = 0;
		for (size_t i = 0; i < other->edge_count; i++)
			if (other->edges[i].from != node)
				other->edges[kept++] = other->edges[i];
		other->edge_count = kept;
		last = other;
		link = &other->next;
	}
	graph->last = last;
	graph->node_count--;
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_memory(node->graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	unlink_node(node);
	node_free(node);
	return CUDA_SUCCESS;
}
