/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "graph.h"

/* Queries about the nodes of a graph and about their dependencies. */

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *count)
{
	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ret_nodes) {
		*count = graph->node_count;
		return CUDA_SUCCESS;
	}
	size_t written = 0;
	for (struct CUgraphNode_st *node = graph->first; node && written < *count; node = node->next)
		ret_nodes[written++] = node;
	*count = written;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *count)
{
	size_t found = 0;

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		if (node->edge_count > 0)
			continue;
		if (ret_nodes && found == *count)
			break;
		if (ret_nodes)
			ret_nodes[found] = node;
		found++;
	}
	*count = found;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
	if (!node || !ret_type)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_type = node->type;
	return CUDA_SUCCESS;
}

/* --- edges ------------------------------------------------------------------------------------ */

/* The output arrays of a query about edges. Each of the three may be NULL. */
struct answer {
	CUgraphNode *from, *to;
	CUgraphEdgeData *data;
	size_t capacity, count;
};

/* Adds an edge to the answer. Returns false if the arrays are full. */
static bool add(struct answer *answer, const struct sim_graph_edge *edge, CUgraphNode to)
{
	bool is_counted_only = !answer->from && !answer->to;

	if (!is_counted_only && answer->count == answer->capacity)
		return false;
	if (answer->from)
		answer->from[answer->count] = edge->from;
	if (answer->to)
		answer->to[answer->count] = to;
	if (answer->data && !is_counted_only)
		answer->data[answer->count] = edge->data;
	answer->count++;
	return true;
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to,
	CUgraphEdgeData *ret_data, size_t *count)
{
	if (!graph || !count || !ret_from != !ret_to)
		return CUDA_ERROR_INVALID_VALUE;
	struct answer answer = { ret_from, ret_to, ret_data, *count, 0 };
	for (struct CUgraphNode_st *node = graph->first; node; node = node->next)
		for (size_t i = 0; i < node->edge_count; i++)
			if (!add(&answer, &node->edges[i], node))
				return CUDA_SUCCESS;
	*count = answer.count;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to, size_t *count)
{
	return cuGraphGetEdges_v2(graph, ret_from, ret_to, NULL, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *ret_nodes,
	CUgraphEdgeData *ret_edges, size_t *count)
{
	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	struct answer answer = { ret_nodes, NULL, ret_edges, *count, 0 };
	for (size_t i = 0; i < node->edge_count && add(&answer, &node->edges[i], node); i++)
		continue;
	*count = answer.count;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *ret_nodes, size_t *count)
{
	return cuGraphNodeGetDependencies_v2(node, ret_nodes, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *ret_nodes,
	CUgraphEdgeData *ret_edges, size_t *count)
{
	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	struct answer answer = { NULL, ret_nodes, ret_edges, *count, 0 };
	for (struct CUgraphNode_st *other = node->graph->first; other; other = other->next)
		for (size_t i = 0; i < other->edge_count; i++)
			if (other->edges[i].from == node && !add(&answer, &other->edges[i], other))
				return CUDA_SUCCESS;
	*count = answer.count;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *ret_nodes, size_t *count)
{
	return cuGraphNodeGetDependentNodes_v2(node, ret_nodes, NULL, count);
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	(void)flags;
	if (!graph || !path)
		return CUDA_ERROR_INVALID_VALUE;
	FILE *file = fopen(path, "we");
	if (!file)
		return CUDA_ERROR_OPERATING_SYSTEM;
	fprintf(file, "digraph graph_%p {\n", (const void *)graph);
	for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		fprintf(file, "\tnode_%p [label=\"type %d\"];\n", (const void *)node, (int)node->type);
		for (size_t i = 0; i < node->edge_count; i++)
			fprintf(file, "\tnode_%p -> node_%p;\n", (const void *)node->edges[i].from,
				(const void *)node);
	}
	fprintf(file, "}\n");
	return fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* --- changing edges --------------------------------------------------------------------------- */

/* Returns the index of the node's edge from `from`, or `edge_count`. */
static size_t find_edge(const struct CUgraphNode_st *node, const struct CUgraphNode_st *from)
{
	size_t index = 0;

	while (index < node->edge_count && node->edges[index].from != from)
		index++;
	return index;
}

/* Returns whether `node` is `other` or depends on it. A visited node has itself as its twin. */
static bool reaches(struct CUgraphNode_st *node, const struct CUgraphNode_st *other)
{
	if (node == other)
		return true;
	if (node->counterpart == node)
		return false;
	node->counterpart = node;
	for (size_t i = 0; i < node->edge_count; i++)
		if (reaches(node->edges[i].from, other))
			return true;
	return false;
}

static bool depends_on(struct CUgraphNode_st *node, const struct CUgraphNode_st *other)
{
	for (struct CUgraphNode_st *each = node->graph->first; each; each = each->next)
		each->counterpart = NULL;
	return reaches(node, other);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t count)
{
	if (!graph || (count > 0 && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!from[i] || !to[i] || from[i]->graph != graph || to[i]->graph != graph ||
			find_edge(to[i], from[i]) < to[i]->edge_count || depends_on(from[i], to[i]))
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sim_graph_depend(to[i], from[i], data ? &data[i] : NULL))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t count)
{
	(void)data;
	if (!graph || (count > 0 && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_memory(graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count; i++)
		if (!from[i] || !to[i] || find_edge(to[i], from[i]) == to[i]->edge_count)
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		size_t index = find_edge(to[i], from[i]);
		if (index < to[i]->edge_count)
			to[i]->edges[index] = to[i]->edges[--to[i]->edge_count];
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
