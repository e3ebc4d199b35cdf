/* SPDX-License-Identifier: MIT */
#include "graph.h"
#include "contexts/stream.h"

/* Graph launches: allocations, frees and host functions happen in the order of the nodes. */

static bool is_chosen(unsigned int index, unsigned int value, const struct CUgraphNode_st *node)
{
	switch (node->condition_type) {
	case CU_GRAPH_COND_TYPE_IF:
		return index == (value == 0);
	case CU_GRAPH_COND_TYPE_WHILE:
		/* Only a kernel could end the loop, and no kernel runs. The body therefore runs once. */
		return value != 0;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return index == value;
	}
	return false;
}

unsigned int sim_graph_chosen_body(const struct CUgraphNode_st *node, const struct CUgraph_st *root)
{
	unsigned int index = 0;

	for (const struct sim_condition *condition = root->conditions; condition;
		condition = condition->next)
		if (condition->handle == node->condition)
			while (index < node->body_count && !is_chosen(index, condition->value, node))
				index++;
	return index;
}

static CUresult launch_nodes(const struct CUgraph_st *graph, const struct CUgraph_st *root);

static CUresult launch_node(const struct CUgraphNode_st *node, const struct CUgraph_st *root)
{
	CUresult result = CUDA_SUCCESS;
	unsigned int index;

	switch (node->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		sim_lock();
		result = node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? sim_graph_memory_begin(node->memory)
															: sim_graph_memory_end(node->memory);
		sim_unlock();
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		node->host.fn(node->host.userData);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		result = sim_event_record_now(node->event);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		result = launch_nodes(node->bodies[0], root);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		index = sim_graph_chosen_body(node, root);
		if (index < node->body_count)
			result = launch_nodes(node->bodies[index], root);
		break;
	default:
		break;
	}
	return result;
}

static CUresult launch_nodes(const struct CUgraph_st *graph, const struct CUgraph_st *root)
{
	CUresult result = CUDA_SUCCESS;

	for (const struct CUgraphNode_st *node = graph->first; node && result == CUDA_SUCCESS;
		node = node->next)
		result = launch_node(node, root);
	return result;
}

/*
 * Adds a node with a copy of the graph to the capture. Fails for a graph with memory, because
 * memory cannot be in two graphs.
 */
static CUresult capture_launch(CUgraphExec exec, CUstream stream)
{
	if (sim_graph_has_memory(exec->graph)) {
		(void)sim_stream_refuse_capturing(stream);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return sim_capture_add_graph(stream, exec->graph);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;

	bool frees_previous = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	sim_lock();
	bool is_capturing = sim_stream_is_capturing(stream);
	if (!is_capturing) {
		result = sim_graph_reserve(exec->graph, frees_previous);
		if (result == CUDA_SUCCESS && frees_previous)
			sim_graph_end_all(exec->graph);
	}
	sim_unlock();
	if (is_capturing)
		return capture_launch(exec, stream);
	return result == CUDA_SUCCESS ? launch_nodes(exec->graph, exec->graph) : result;
}
