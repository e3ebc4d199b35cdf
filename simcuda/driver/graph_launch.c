/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "graph.h"
#include "stream.h"

/* Graphs made executable, and launched: their allocations, frees and host functions happen. */

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	if (!ret_exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraphExec_st *exec = malloc(sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*exec = (struct CUgraphExec_st){ sim_graph_copy(graph), flags };
	if (!exec->graph) {
		free(exec);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags)
{
	return instantiate(ret_exec, graph, flags);
}

CUresult cuGraphInstantiate(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_error_node, char *log,
			    size_t log_size_bytes)
{
	if (ret_error_node)
		*ret_error_node = NULL;
	if (log && log_size_bytes > 0)
		log[0] = '\0';
	return instantiate(ret_exec, graph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_error_node, char *log,
			       size_t log_size_bytes)
{
	return cuGraphInstantiate(ret_exec, graph, ret_error_node, log, log_size_bytes);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = instantiate(ret_exec, graph, parameters->flags);
	parameters->hErrNode_out = NULL;
	parameters->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS :
							  CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
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

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret_info)
{
	if (!exec || !graph || !ret_info)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraph_st *copy = sim_graph_copy(graph);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_graph_free(exec->graph);
	exec->graph = copy;
	*ret_info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
	return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_error_node,
			   CUgraphExecUpdateResult *ret_result)
{
	CUgraphExecUpdateResultInfo info = { 0 };
	CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);

	if (ret_error_node)
		*ret_error_node = NULL;
	if (ret_result)
		*ret_result = info.result;
	return result;
}

/* --- launch --------------------------------------------------------------------------------------- */

static CUresult launch_allocation(const struct sim_graph_memory *memory, bool frees_previous)
{
	struct sim_device *device = memory->device;
	struct sim_block *previous = sim_block_find_start(memory->address);

	if (previous && !frees_previous)
		return CUDA_ERROR_INVALID_VALUE;
	if (previous)
		sim_block_free(previous);

	size_t charged_bytes = sim_round_up(memory->size_bytes, SIM_CHARGE_UNIT_BYTES);
	if (memory->size_bytes > device->capacity_bytes || !sim_device_charge(device, charged_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct sim_block *block = sim_block_new_at(SIM_SPACE_GRAPH, memory->address, memory->size_bytes);
	if (!block) {
		sim_device_refund(device, charged_bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	block->device = device;
	block->charged_bytes = charged_bytes;
	device->graph_used_bytes += charged_bytes;
	if (device->graph_used_bytes > device->graph_used_high_bytes)
		device->graph_used_high_bytes = device->graph_used_bytes;
	return CUDA_SUCCESS;
}

static CUresult launch_free(CUdeviceptr address)
{
	struct sim_block *block = sim_block_find_start(address);

	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	if (block->pool)
		sim_pool_free_block(block);
	else
		sim_block_free(block);
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_capture_add_node(stream, CU_GRAPH_NODE_TYPE_GRAPH))
		return CUDA_SUCCESS;

	bool frees_previous = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	for (const struct CUgraphNode_st *node = exec->graph->first; node && result == CUDA_SUCCESS;
	     node = node->next) {
		sim_lock();
		if (node->memory)
			result = launch_allocation(node->memory, frees_previous);
		else if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			result = launch_free(node->freed_address);
		sim_unlock();
		if (node->host_function)
			node->host_function(node->host_argument);
	}
	return result;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	return result == CUDA_SUCCESS && !exec ? CUDA_ERROR_INVALID_VALUE : result;
}

/* --- memory that launched graphs hold ------------------------------------------------------------- */

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *ret_value)
{
	const struct sim_device *device = sim_device_find(ordinal);
	cuuint64_t *bytes = ret_value;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;

	/* Freed graph memory goes back at once, so that what is reserved is what is used. */
	sim_lock();
	bool wants_high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
			  attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
	*bytes = wants_high ? device->graph_used_high_bytes : device->graph_used_bytes;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct sim_device *device = sim_device_find(ordinal);
	const cuuint64_t *bytes = value;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || *bytes != 0 ||
	    (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
	     attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	device->graph_used_high_bytes = device->graph_used_bytes;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	return sim_device_find(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
