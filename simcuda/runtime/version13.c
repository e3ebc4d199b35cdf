/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <string.h>

/* Functions whose parameters CUDA 13 changed, in their CUDA 13 form. */

static cudaError_t fill_properties(struct cudaDeviceProp *ret_properties, int device)
{
	CUuuid uuid;
	int value;

	if (!ret_properties)
		return cudaErrorInvalidValue;
	memset(ret_properties, 0, sizeof(*ret_properties));
	cudaError_t error =
		sim_query_identity(device, &ret_properties->name, &ret_properties->totalGlobalMem, &uuid);
	if (error)
		return error;
	memcpy(&ret_properties->uuid, &uuid, sizeof(uuid));

#define PROPERTY(field, attribute) \
	error = sim_error(sim_driver_calls.cuDeviceGetAttribute(&value, \
		CU_DEVICE_ATTRIBUTE_##attribute, device)); \
	if (error) \
		return error; \
	ret_properties->field = (__typeof__(ret_properties->field))value;
#include "properties.def"
#undef PROPERTY
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret_properties, int device)
{
	return sim_leave(fill_properties(ret_properties, device));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes,
	const void *pointer)
{
	struct sim_pointer found;
	cudaError_t error =
		ret_attributes ? sim_describe_pointer(pointer, &found) : cudaErrorInvalidValue;

	if (!error)
		*ret_attributes = (struct cudaPointerAttributes){ .type = found.type,
			.device = found.device,
			.devicePointer = found.device_pointer,
			.hostPointer = found.host_pointer };
	return sim_leave(error);
}

cudaError_t cudaMemAdvise(const void *address, size_t size_bytes, enum cudaMemoryAdvise advice,
	struct cudaMemLocation location)
{
	return SIM_CALL(cuMemAdvise_v2((CUdeviceptr)address, size_bytes, (CUmem_advise)advice,
		(CUmemLocation){ .type = (CUmemLocationType)location.type, .id = location.id }));
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, size_t count,
	struct cudaGraphNodeParams *parameters)
{
	return SIM_CALL(cuGraphAddNode_v2(ret_node, graph, dependencies, (const CUgraphEdgeData *)edges,
		count, (CUgraphNodeParams *)parameters));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes,
	cudaGraphEdgeData *ret_edges, size_t *count)
{
	return SIM_CALL(cuGraphNodeGetDependencies_v2(node, ret_nodes, (CUgraphEdgeData *)ret_edges,
		count));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes,
	cudaGraphEdgeData *ret_edges, size_t *count)
{
	return SIM_CALL(cuGraphNodeGetDependentNodes_v2(node, ret_nodes, (CUgraphEdgeData *)ret_edges,
		count));
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *ret_from, cudaGraphNode_t *ret_to,
	cudaGraphEdgeData *ret_edges, size_t *count)
{
	return SIM_CALL(cuGraphGetEdges_v2(graph, ret_from, ret_to, (CUgraphEdgeData *)ret_edges,
		count));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
	const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t count)
{
	return SIM_CALL(cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges,
		count));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
	const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t count)
{
	return SIM_CALL(cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges,
		count));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *ret_pool, struct cudaMemLocation *location,
	enum cudaMemAllocationType type)
{
	return SIM_CALL(cuMemGetDefaultMemPool(ret_pool, (CUmemLocation *)location,
		(CUmemAllocationType)type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *ret_pool, struct cudaMemLocation *location,
	enum cudaMemAllocationType type)
{
	return SIM_CALL(cuMemGetMemPool(ret_pool, (CUmemLocation *)location,
		(CUmemAllocationType)type));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
	cudaMemPool_t pool)
{
	return SIM_CALL(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, pool));
}

/* PER_STREAM(suffix): for legacy (no suffix) and per-thread streams. */
#define PER_STREAM(suffix) \
	cudaError_t cudaMemPrefetchAsync##suffix(const void *address, size_t size_bytes, \
		struct cudaMemLocation location, unsigned int flags, cudaStream_t stream) \
	{ \
		return SIM_CALL(cuMemPrefetchAsync_v2##suffix((CUdeviceptr)address, size_bytes, \
			(CUmemLocation){ .type = (CUmemLocationType)location.type, .id = location.id }, flags, \
			stream)); \
	} \
	cudaError_t cudaStreamGetCaptureInfo##suffix(cudaStream_t stream, \
		enum cudaStreamCaptureStatus *ret_status, unsigned long long *ret_id, \
		cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_dependencies, \
		const cudaGraphEdgeData **ret_edges, size_t *ret_count) \
	{ \
		return SIM_CALL(cuStreamGetCaptureInfo_v3##suffix(stream, \
			(CUstreamCaptureStatus *)ret_status, (cuuint64_t *)ret_id, ret_graph, \
			ret_dependencies, (const CUgraphEdgeData **)ret_edges, ret_count)); \
	} \
	cudaError_t cudaStreamUpdateCaptureDependencies##suffix(cudaStream_t stream, \
		cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, size_t count, \
		unsigned int flags) \
	{ \
		return SIM_CALL(cuStreamUpdateCaptureDependencies_v2##suffix(stream, dependencies, \
			(const CUgraphEdgeData *)edges, count, flags)); \
	}

PER_STREAM()
PER_STREAM(_ptsz)
#undef PER_STREAM
