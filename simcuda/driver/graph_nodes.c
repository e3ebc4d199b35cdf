/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <stdlib.h>

/* Nodes added by hand, and what graphs and nodes say of themselves. */

static CUresult add_node(CUgraphNode *ret_node, CUgraph graph, CUgraphNodeType type)
{
	if (!ret_node || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	*ret_node = sim_graph_add(graph, type);
	sim_unlock();
	return *ret_node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult add_allocation(CUgraphNode *ret_node, CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS *parameters)
{
	if (!ret_node || !graph || !parameters || parameters->bytesize == 0 ||
	    parameters->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_device *device = sim_device_find(parameters->poolProps.location.id);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	*ret_node = sim_graph_add_allocation(graph, parameters->bytesize, device);
	sim_unlock();
	if (!*ret_node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	parameters->dptr = (*ret_node)->memory->address;
	return CUDA_SUCCESS;
}

static CUresult add_conditional(CUgraphNode *ret_node, CUgraph graph,
				CUDA_CONDITIONAL_NODE_PARAMS *parameters)
{
	if (parameters->size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraph_st **bodies = calloc(parameters->size, sizeof(struct CUgraph_st *));
	CUresult result = bodies ? add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_CONDITIONAL) :
				   CUDA_ERROR_OUT_OF_MEMORY;
	if (result != CUDA_SUCCESS) {
		free(bodies);
		return result;
	}
	/* The bodies are there to be filled; which one a launch would run is known to kernels only. */
	for (unsigned int i = 0; i < parameters->size; i++) {
		bodies[i] = sim_graph_new();
		if (!bodies[i])
			return CUDA_ERROR_OUT_OF_MEMORY;
		(*ret_node)->body_count = i + 1;
	}
	(*ret_node)->bodies = bodies;
	parameters->phGraph_out = bodies;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			   const CUgraphEdgeData *edges, size_t dependency_count,
			   CUgraphNodeParams *parameters)
{
	(void)edges;
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	switch (parameters->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
		CUDA_MEM_ALLOC_NODE_PARAMS allocation = {
			.poolProps = parameters->alloc.poolProps,
			.bytesize = parameters->alloc.bytesize,
		};
		CUresult result = add_allocation(ret_node, graph, &allocation);
		parameters->alloc.dptr = allocation.dptr;
		return result;
	}
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return cuGraphAddMemFreeNode(ret_node, graph, dependencies, dependency_count,
					     parameters->free.dptr);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return add_conditional(ret_node, graph, &parameters->conditional);
	default:
		return add_node(ret_node, graph, parameters->type);
	}
}

CUresult cuGraphAddNode_v3(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			   const CUgraphEdgeData *edges, size_t dependency_count,
			   CUgraphNodeParams *parameters)
{
	return cuGraphAddNode_v2(ret_node, graph, dependencies, edges, dependency_count, parameters);
}

CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			size_t dependency_count, CUgraphNodeParams *parameters)
{
	return cuGraphAddNode_v2(ret_node, graph, dependencies, NULL, dependency_count, parameters);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
				size_t dependency_count, CUDA_MEM_ALLOC_NODE_PARAMS *parameters)
{
	(void)dependencies;
	(void)dependency_count;
	return add_allocation(ret_node, graph, parameters);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			       size_t dependency_count, CUdeviceptr address)
{
	(void)dependencies;
	(void)dependency_count;
	CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
	if (result == CUDA_SUCCESS)
		(*ret_node)->freed_address = address;
	return result;
}

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t dependency_count, const CUDA_HOST_NODE_PARAMS *parameters)
{
	(void)dependencies;
	(void)dependency_count;
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_HOST);
	if (result == CUDA_SUCCESS) {
		(*ret_node)->host_function = parameters->fn;
		(*ret_node)->host_argument = parameters->userData;
	}
	return result;
}

/* Kinds of nodes whose work has no effect here: they are counted, and keep their place. */

CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			     size_t dependency_count)
{
	(void)dependencies;
	(void)dependency_count;
	return add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_EMPTY);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	(void)dependencies;
	(void)dependency_count;
	(void)parameters;
	return add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_KERNEL);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			      size_t dependency_count, const CUDA_MEMCPY3D *parameters, CUcontext context)
{
	(void)dependencies;
	(void)dependency_count;
	(void)parameters;
	(void)context;
	return add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_MEMCPY);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
			      size_t dependency_count, const CUDA_MEMSET_NODE_PARAMS *parameters,
			      CUcontext context)
{
	(void)dependencies;
	(void)dependency_count;
	(void)parameters;
	(void)context;
	return add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_MEMSET);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret_handle, CUgraph graph,
					CUcontext context, unsigned int default_value, unsigned int flags)
{
	(void)context;
	(void)default_value;
	(void)flags;
	if (!ret_handle || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	*ret_handle = sim_next_id();
	sim_unlock();
	return CUDA_SUCCESS;
}

/* --- questions ------------------------------------------------------------------------------------ */

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

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
	if (!node || !ret_type)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_type = node->type;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *ret_nodes, CUgraphEdgeData *ret_edges,
				       size_t *count)
{
	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret_nodes && *count > 0 && node->previous) {
		ret_nodes[0] = node->previous;
		if (ret_edges)
			ret_edges[0] = (CUgraphEdgeData){ 0 };
	}
	*count = node->previous != NULL;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *ret_nodes, size_t *count)
{
	return cuGraphNodeGetDependencies_v2(node, ret_nodes, NULL, count);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_parameters)
{
	if (!node || !node->memory || !ret_parameters)
		return CUDA_ERROR_INVALID_VALUE;
	int ordinal = node->memory->device->ordinal;
	*ret_parameters = (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {
			.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal },
		},
		.bytesize = node->memory->size_bytes,
		.dptr = node->memory->address,
	};
	return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ret_address)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE || !ret_address)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = node->freed_address;
	return CUDA_SUCCESS;
}
