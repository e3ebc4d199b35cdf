/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "graph.h"
#include "contexts/stream.h"

/* Executable graphs: instantiation and updates. */

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	if (!ret_exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) &&
		(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraphExec_st *exec = malloc(sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;

	/* Two executable graphs with the same memory could run at once, so only one may exist. */
	sim_lock();
	bool is_second = graph->family->execs > 0 && sim_graph_has_memory(graph);
	if (!is_second)
		graph->family->execs++;
	sim_unlock();
	*exec = (struct CUgraphExec_st){ is_second ? NULL : sim_graph_copy(graph, true), flags };
	if (exec->graph) {
		*ret_exec = exec;
		return CUDA_SUCCESS;
	}
	free(exec);
	if (is_second)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	graph->family->execs--;
	sim_unlock();
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	return instantiate(ret_exec, graph, flags);
}

CUresult cuGraphInstantiate(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_error_node,
	char *log, size_t log_size_bytes)
{
	if (ret_error_node)
		*ret_error_node = NULL;
	if (log && log_size_bytes > 0)
		log[0] = '\0';
	return instantiate(ret_exec, graph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_error_node,
	char *log, size_t log_size_bytes)
{
	return cuGraphInstantiate(ret_exec, graph, ret_error_node, log, log_size_bytes);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = instantiate(ret_exec, graph, parameters->flags);
	if (result == CUDA_SUCCESS && (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)) {
		result = cuGraphUpload(*ret_exec, parameters->hUploadStream);
		/* On an error, the program does not get the executable graph either. */
		if (result != CUDA_SUCCESS)
			(void)cuGraphExecDestroy(*ret_exec);
	}
	parameters->hErrNode_out = NULL;
	parameters->result_out =
		result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

/* Memory that the graph left allocated stays allocated. All other ways to free it still work. */
CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	exec->graph->family->execs--;
	sim_unlock();
	sim_graph_free(exec->graph);
	free(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *ret_flags)
{
	if (!exec || !ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = exec->flags;
	return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_stream_refuse_capturing(stream);
	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = sim_graph_reserve(exec->graph,
		exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	sim_unlock();
	/*
	 * The graph cannot be launched now. The upload ignores this, because only the launch reports
	 * it.
	 */
	return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

/* --- updates ---------------------------------------------------------------------------------- */

static bool have_same_dependencies(const struct CUgraphNode_st *old,
	const struct CUgraphNode_st *new)
{
	return old->edge_count == new->edge_count && old->body_count == new->body_count;
}

/* Returns why `new` cannot replace `old`, and at which node. */
static CUgraphExecUpdateResult compare(const struct CUgraph_st *old, const struct CUgraph_st *new,
	struct CUgraphNode_st **ret_node)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	*ret_node = NULL;
	if (old->node_count != new->node_count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	const struct CUgraphNode_st *before = old->first;
	for (struct CUgraphNode_st *node = new->first; node && result == CU_GRAPH_EXEC_UPDATE_SUCCESS;
		node = node->next, before = before->next) {
		*ret_node = node;
		if (node->type != before->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (!have_same_dependencies(before, node))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		/* The address of a graph's memory can never change. */
		if (node->memory != before->memory)
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		for (unsigned int i = 0; i < node->body_count && result == CU_GRAPH_EXEC_UPDATE_SUCCESS;
			i++)
			result = compare(before->bodies[i], node->bodies[i], ret_node);
	}
	if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
		*ret_node = NULL;
	return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
	CUgraphExecUpdateResultInfo *ret_info)
{
	struct CUgraphNode_st *node;

	if (!exec || !graph || !ret_info)
		return CUDA_ERROR_INVALID_VALUE;
	CUgraphExecUpdateResult obstacle = compare(exec->graph, graph, &node);
	*ret_info = (CUgraphExecUpdateResultInfo){ .result = obstacle, .errorNode = node };
	if (obstacle != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	struct CUgraph_st *copy = sim_graph_copy(graph, true);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	exec->graph->family->execs--;
	copy->family->execs++;
	sim_unlock();
	sim_graph_free(exec->graph);
	exec->graph = copy;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_error_node,
	CUgraphExecUpdateResult *ret_result)
{
	CUgraphExecUpdateResultInfo info = { 0 };
	CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);

	if (ret_error_node)
		*ret_error_node = info.errorNode;
	if (ret_result)
		*ret_result = info.result;
	return result;
}
