/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <string.h>

/*
 * Parameters of nodes: queries and changes, in graphs and in executable graphs. The driver stores
 * the parameters as given. Pointers in them point to memory of the program, which the program may
 * have changed since.
 */

/* Returns the node of the executable graph that was copied from `node`, or NULL. */
static struct CUgraphNode_st *find_in(const struct CUgraph_st *graph,
	const struct CUgraphNode_st *node)
{
	for (struct CUgraphNode_st *counterpart = graph->first; counterpart;
		counterpart = counterpart->next) {
		if (counterpart->original == node)
			return counterpart;
		for (unsigned int i = 0; i < counterpart->body_count; i++) {
			struct CUgraphNode_st *inside = find_in(counterpart->bodies[i], node);
			if (inside)
				return inside;
		}
	}
	return NULL;
}

static struct CUgraphNode_st *exec_node(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type)
{
	struct CUgraphNode_st *counterpart = exec && node ? find_in(exec->graph, node) : NULL;

	return counterpart && counterpart->type == type ? counterpart : NULL;
}

/* --- kernels ---------------------------------------------------------------------------------- */

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret_parameters)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !ret_parameters)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_parameters = node->kernel;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *ret_parameters)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !ret_parameters)
		return CUDA_ERROR_INVALID_VALUE;
	/* The older struct is a prefix of the newer one. */
	memcpy(ret_parameters, &node->kernel, sizeof(*ret_parameters));
	return CUDA_SUCCESS;
}

static CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 *parameters)
{
	CUDA_KERNEL_NODE_PARAMS wide = { 0 };

	memcpy(&wide, parameters, sizeof(*parameters));
	return wide;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !parameters)
		return CUDA_ERROR_INVALID_VALUE;
	node->kernel = *parameters;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_KERNEL_NODE_PARAMS wide = widen(parameters);
	return cuGraphKernelNodeSetParams_v2(node, &wide);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	return cuGraphKernelNodeSetParams_v2(exec_node(exec, node, CU_GRAPH_NODE_TYPE_KERNEL),
		parameters);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v1 *parameters)
{
	return cuGraphKernelNodeSetParams(exec_node(exec, node, CU_GRAPH_NODE_TYPE_KERNEL), parameters);
}

CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_KERNEL_NODE_PARAMS wide = widen(parameters);
	return cuGraphAddKernelNode_v2(ret_node, graph, dependencies, dependency_count, &wide);
}

/* Kernel attributes change how a kernel runs, but no kernel runs here. */

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
	CUkernelNodeAttrValue *ret_value)
{
	(void)attribute;
	if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = (CUkernelNodeAttrValue){ 0 };
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
	const CUkernelNodeAttrValue *value)
{
	(void)attribute;
	return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL && value ? CUDA_SUCCESS
																	: CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode destination, CUgraphNode source)
{
	return destination && source ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- copies, fills, host functions, events ---------------------------------------------------- */

/* GETTER(function, type of node, type of the value, field). SETTER has the same arguments. */
#define GETTER(function, node_type, value_type, field) \
	CUresult function(CUgraphNode node, value_type *ret_value) \
	{ \
		if (!node || node->type != CU_GRAPH_NODE_TYPE_##node_type || !ret_value) \
			return CUDA_ERROR_INVALID_VALUE; \
		*ret_value = node->field; \
		return CUDA_SUCCESS; \
	}

#define SETTER(function, node_type, value_type, field) \
	CUresult function(CUgraphNode node, const value_type *value) \
	{ \
		if (!node || node->type != CU_GRAPH_NODE_TYPE_##node_type || !value) \
			return CUDA_ERROR_INVALID_VALUE; \
		node->field = *value; \
		return CUDA_SUCCESS; \
	}

GETTER(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, copy)
SETTER(cuGraphMemcpyNodeSetParams, MEMCPY, CUDA_MEMCPY3D, copy)
GETTER(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, fill)
SETTER(cuGraphMemsetNodeSetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, fill)
GETTER(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS, host)
SETTER(cuGraphHostNodeSetParams, HOST, CUDA_HOST_NODE_PARAMS, host)
GETTER(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent, event)
GETTER(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent, event)
#undef GETTER
#undef SETTER

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMCPY3D *parameters, CUcontext context)
{
	(void)context;
	return cuGraphMemcpyNodeSetParams(exec_node(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY), parameters);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context)
{
	(void)context;
	return cuGraphMemsetNodeSetParams(exec_node(exec, node, CU_GRAPH_NODE_TYPE_MEMSET), parameters);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_HOST_NODE_PARAMS *parameters)
{
	return cuGraphHostNodeSetParams(exec_node(exec, node, CU_GRAPH_NODE_TYPE_HOST), parameters);
}

static CUresult set_event(CUgraphNode node, CUgraphNodeType type, CUevent event)
{
	if (!node || node->type != type || !event)
		return CUDA_ERROR_INVALID_VALUE;
	node->event = event;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	return set_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return cuGraphEventRecordNodeSetEvent(exec_node(exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD),
		event);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return cuGraphEventWaitNodeSetEvent(exec_node(exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT),
		event);
}

/* --- nodes of any type ------------------------------------------------------------------------ */

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;

	if (!node || !parameters || node->type != parameters->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (parameters->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &parameters->kernel, sizeof(kernel));
		return cuGraphKernelNodeSetParams_v2(node, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cuGraphMemcpyNodeSetParams(node, &parameters->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		/* The newer struct is the older one plus a context. */
		memcpy(&fill, &parameters->memset, sizeof(fill));
		return cuGraphMemsetNodeSetParams(node, &fill);
	case CU_GRAPH_NODE_TYPE_HOST:
		host = (CUDA_HOST_NODE_PARAMS){ parameters->host.fn, parameters->host.userData };
		return cuGraphHostNodeSetParams(node, &host);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cuGraphEventRecordNodeSetEvent(node, parameters->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cuGraphEventWaitNodeSetEvent(node, parameters->eventWait.event);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	return cuGraphNodeSetParams(exec_node(exec, node, parameters->type), parameters);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is_enabled)
{
	struct CUgraphNode_st *counterpart = exec && node ? find_in(exec->graph, node) : NULL;

	if (!counterpart ||
		(counterpart->type != CU_GRAPH_NODE_TYPE_KERNEL &&
			counterpart->type != CU_GRAPH_NODE_TYPE_MEMSET &&
			counterpart->type != CU_GRAPH_NODE_TYPE_MEMCPY))
		return CUDA_ERROR_INVALID_VALUE;
	counterpart->is_disabled = !is_enabled;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *ret_is_enabled)
{
	const struct CUgraphNode_st *counterpart = exec && node ? find_in(exec->graph, node) : NULL;

	if (!counterpart || !ret_is_enabled)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_is_enabled = !counterpart->is_disabled;
	return CUDA_SUCCESS;
}

/* --- memory and child graphs, whose parameters cannot be changed ------------------------------ */

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_parameters)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !ret_parameters)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_parameters = (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {
			.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
				      .id = sim_ordinal_of(node->memory->device) },
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
	*ret_address = node->memory->address;
	return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret_graph)
{
	if (!node || node->type != CU_GRAPH_NODE_TYPE_GRAPH || !ret_graph)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = node->bodies[0];
	return CUDA_SUCCESS;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	struct CUgraphNode_st *counterpart = exec_node(exec, node, CU_GRAPH_NODE_TYPE_GRAPH);

	if (!counterpart || !child || child->node_count != counterpart->bodies[0]->node_count)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_memory(child) || sim_graph_has_memory(counterpart->bodies[0]))
		return CUDA_ERROR_NOT_SUPPORTED;
	struct CUgraph_st *copy = sim_graph_copy(child, false);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_graph_free(counterpart->bodies[0]);
	copy->container = counterpart;
	counterpart->bodies[0] = copy;
	return CUDA_SUCCESS;
}
