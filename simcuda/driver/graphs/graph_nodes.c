/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "graph.h"

/* Nodes that the program adds explicitly. */

/* The nodes that a new node depends on. */
struct dependencies {
	const CUgraphNode *nodes;
	const CUgraphEdgeData *edges; /* NULL: edges of the default type */
	size_t count;
};

static bool are_valid(const struct CUgraph_st *graph, struct dependencies dependencies)
{
	if (dependencies.count > 0 && !dependencies.nodes)
		return false;
	for (size_t i = 0; i < dependencies.count; i++) {
		if (!dependencies.nodes[i] || dependencies.nodes[i]->graph != graph)
			return false;
		for (size_t j = 0; j < i; j++)
			if (dependencies.nodes[j] == dependencies.nodes[i])
				return false;
	}
	return true;
}

static CUresult add_node(CUgraphNode *ret_node, CUgraph graph, CUgraphNodeType type,
	struct dependencies dependencies)
{
	if (!ret_node || !graph || !are_valid(graph, dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	struct CUgraphNode_st *node = sim_graph_add(graph, type);
	for (size_t i = 0; node && i < dependencies.count; i++) {
		if (!sim_graph_depend(node, dependencies.nodes[i],
				dependencies.edges ? &dependencies.edges[i] : NULL)) {
			sim_graph_remove_last(graph);
			node = NULL;
		}
	}
	sim_unlock();
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_node = node;
	return CUDA_SUCCESS;
}

/* --- memory ----------------------------------------------------------------------------------- */

static CUresult add_allocation(CUgraphNode *ret_node, CUgraph graph,
	struct dependencies dependencies, const CUmemPoolProps *pool, size_t size_bytes,
	CUdeviceptr *ret_address)
{
	if (size_bytes == 0 || pool->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_device *device = sim_device_find(pool->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, dependencies);
	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = sim_graph_node_allocates(*ret_node, size_bytes, device);
	if (result == CUDA_SUCCESS)
		*ret_address = (*ret_node)->memory->address;
	else
		sim_graph_remove_last(graph);
	sim_unlock();
	return result;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count,
	CUDA_MEM_ALLOC_NODE_PARAMS *parameters)
{
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	return add_allocation(ret_node, graph,
		(struct dependencies){ dependencies, NULL, dependency_count }, &parameters->poolProps,
		parameters->bytesize, &parameters->dptr);
}

static CUresult add_free(CUgraphNode *ret_node, CUgraph graph, struct dependencies dependencies,
	CUdeviceptr address)
{
	CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_MEM_FREE, dependencies);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = sim_graph_node_frees(*ret_node, address);
	if (result != CUDA_SUCCESS)
		sim_graph_remove_last(graph);
	sim_unlock();
	return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count, CUdeviceptr address)
{
	return add_free(ret_node, graph, (struct dependencies){ dependencies, NULL, dependency_count },
		address);
}

/* --- graphs inside nodes ---------------------------------------------------------------------- */

static CUresult add_child(CUgraphNode *ret_node, CUgraph graph, struct dependencies dependencies,
	CUgraph child, CUgraphChildGraphNodeOwnership ownership)
{
	bool is_moved = ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;

	if (!child || child == graph || (is_moved && child->container))
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_graph_has_type(child, CU_GRAPH_NODE_TYPE_CONDITIONAL) ||
		(!is_moved && sim_graph_has_memory(child)))
		return CUDA_ERROR_NOT_SUPPORTED;
	struct CUgraph_st **bodies = malloc(sizeof(struct CUgraph_st *));
	struct CUgraph_st *body = is_moved || !bodies ? child : sim_graph_copy(child, false);
	if (!bodies || !body) {
		free(bodies);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_GRAPH, dependencies);
	if (result != CUDA_SUCCESS) {
		if (!is_moved)
			sim_graph_free(body);
		free(bodies);
		return result;
	}
	bodies[0] = body;
	body->container = *ret_node;
	(*ret_node)->bodies = bodies;
	(*ret_node)->body_count = 1;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count, CUgraph child)
{
	return add_child(ret_node, graph, (struct dependencies){ dependencies, NULL, dependency_count },
		child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
}

static void free_bodies(struct CUgraph_st **bodies, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		sim_graph_free(bodies[i]);
	free(bodies);
}

static CUresult add_conditional(CUgraphNode *ret_node, CUgraph graph,
	struct dependencies dependencies, CUDA_CONDITIONAL_NODE_PARAMS *parameters)
{
	unsigned int count = 0, wanted = parameters->size;

	if (wanted == 0 || (parameters->type == CU_GRAPH_COND_TYPE_WHILE && wanted > 1) ||
		(parameters->type == CU_GRAPH_COND_TYPE_IF && wanted > 2))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraph_st **bodies = calloc(wanted, sizeof(struct CUgraph_st *));
	while (bodies && count < wanted && (bodies[count] = sim_graph_new()))
		count++;
	CUresult result = bodies && count == wanted
		? add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_CONDITIONAL, dependencies)
		: CUDA_ERROR_OUT_OF_MEMORY;
	if (result != CUDA_SUCCESS) {
		free_bodies(bodies, count);
		return result;
	}
	for (unsigned int i = 0; i < count; i++)
		bodies[i]->container = *ret_node;
	(*ret_node)->bodies = bodies;
	(*ret_node)->body_count = count;
	(*ret_node)->condition = parameters->handle;
	(*ret_node)->condition_type = parameters->type;
	parameters->phGraph_out = bodies;
	return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret_handle, CUgraph graph,
	CUcontext context, unsigned int default_value, unsigned int flags)
{
	(void)context;
	if (!ret_handle || !graph || (flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT))
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_condition *condition = malloc(sizeof(*condition));
	if (!condition)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	*condition = (struct sim_condition){
		.next = graph->conditions,
		.handle = sim_next_id(),
		.value = flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? default_value : 0,
	};
	graph->conditions = condition;
	*ret_handle = condition->handle;
	sim_unlock();
	return CUDA_SUCCESS;
}

/* --- other types of nodes --------------------------------------------------------------------- */

/* Adds a node of that type and stores `value` in its member `field`. */
#define ADD(type_name, field, value) \
	do { \
		struct dependencies on = { dependencies, NULL, dependency_count }; \
		CUresult result = add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_##type_name, on); \
		if (result == CUDA_SUCCESS) \
			(*ret_node)->field = value; \
		return result; \
	} while (0)

CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count, const CUDA_HOST_NODE_PARAMS *parameters)
{
	if (!parameters || !parameters->fn)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(HOST, host, *parameters);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count)
{
	return add_node(ret_node, graph, CU_GRAPH_NODE_TYPE_EMPTY,
		(struct dependencies){ dependencies, NULL, dependency_count });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count,
	const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	if (!parameters || (!parameters->func && !parameters->kern))
		return CUDA_ERROR_INVALID_VALUE;
	ADD(KERNEL, kernel, *parameters);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count, const CUDA_MEMCPY3D *parameters, CUcontext context)
{
	(void)context;
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(MEMCPY, copy, *parameters);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context)
{
	(void)context;
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(MEMSET, fill, *parameters);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count, CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(EVENT_RECORD, event, event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph,
	const CUgraphNode *dependencies, size_t dependency_count, CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(WAIT_EVENT, event, event);
}

CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *edges, size_t dependency_count, CUgraphNodeParams *parameters)
{
	struct dependencies on = { dependencies, edges, dependency_count };

	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	switch (parameters->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return add_allocation(ret_node, graph, on, &parameters->alloc.poolProps,
			parameters->alloc.bytesize, &parameters->alloc.dptr);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return add_free(ret_node, graph, on, parameters->free.dptr);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return add_child(ret_node, graph, on, parameters->graph.graph, parameters->graph.ownership);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return add_conditional(ret_node, graph, on, &parameters->conditional);
	default:
		break;
	}
	CUresult result = add_node(ret_node, graph, parameters->type, on);
	if (result == CUDA_SUCCESS && parameters->type != CU_GRAPH_NODE_TYPE_EMPTY)
		result = cuGraphNodeSetParams(*ret_node, parameters);
	return result;
}

CUresult cuGraphAddNode_v3(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *edges, size_t dependency_count, CUgraphNodeParams *parameters)
{
	return cuGraphAddNode_v2(ret_node, graph, dependencies, edges, dependency_count, parameters);
}

CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	size_t dependency_count, CUgraphNodeParams *parameters)
{
	return cuGraphAddNode_v2(ret_node, graph, dependencies, NULL, dependency_count, parameters);
}
