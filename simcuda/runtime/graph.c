/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Copy and fill nodes, whose parameters differ between the two APIs. */

/*
 * Converts a copy to the driver's form. Positions and extents in arrays count elements, which are
 * bytes here.
 */
static CUDA_MEMCPY3D to_driver(const struct cudaMemcpy3DParms *copy)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = copy->srcPos.x,
		.srcY = copy->srcPos.y,
		.srcZ = copy->srcPos.z,
		.srcMemoryType = copy->srcArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)copy->srcPtr.ptr,
		.srcArray = (CUarray)copy->srcArray,
		.srcPitch = copy->srcPtr.pitch,
		.srcHeight = copy->srcPtr.ysize,
		.dstXInBytes = copy->dstPos.x,
		.dstY = copy->dstPos.y,
		.dstZ = copy->dstPos.z,
		.dstMemoryType = copy->dstArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)copy->dstPtr.ptr,
		.dstArray = (CUarray)copy->dstArray,
		.dstPitch = copy->dstPtr.pitch,
		.dstHeight = copy->dstPtr.ysize,
		.WidthInBytes = copy->extent.width,
		.Height = copy->extent.height,
		.Depth = copy->extent.depth,
	};
}

static struct cudaMemcpy3DParms from_driver(const CUDA_MEMCPY3D *copy)
{
	return (struct cudaMemcpy3DParms){
		.srcArray = (cudaArray_t)copy->srcArray,
		.srcPos = { copy->srcXInBytes, copy->srcY, copy->srcZ },
		.srcPtr = { (void *)copy->srcDevice, copy->srcPitch, copy->WidthInBytes, copy->srcHeight },
		.dstArray = (cudaArray_t)copy->dstArray,
		.dstPos = { copy->dstXInBytes, copy->dstY, copy->dstZ },
		.dstPtr = { (void *)copy->dstDevice, copy->dstPitch, copy->WidthInBytes, copy->dstHeight },
		.extent = { copy->WidthInBytes, copy->Height, copy->Depth },
		.kind = cudaMemcpyDefault,
	};
}

static struct cudaMemcpy3DParms describe_1d(void *destination, const void *source,
	size_t size_bytes)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = { (void *)(uintptr_t)source, size_bytes, size_bytes, 1 },
		.dstPtr = { destination, size_bytes, size_bytes, 1 },
		.extent = { size_bytes, 1, 1 },
	};
}

/* Gets the current context, for driver calls with a context argument. */
static cudaError_t get_context(CUcontext *ret_context)
{
	return sim_enter() ?: sim_error(sim_driver_calls.cuCtxGetCurrent(ret_context));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, const struct cudaMemcpy3DParms *copy)
{
	CUcontext context = NULL;

	if (!copy)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_MEMCPY3D parameters = to_driver(copy);
	return sim_leave(get_context(&context)
			?: sim_error(sim_driver_calls.cuGraphAddMemcpyNode(ret_node, graph, dependencies, count,
				   &parameters, context)));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, void *destination, const void *source,
	size_t size_bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms copy = describe_1d(destination, source, size_bytes);

	(void)kind;
	return cudaGraphAddMemcpyNode(ret_node, graph, dependencies, count, &copy);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *ret_copy)
{
	CUDA_MEMCPY3D parameters;

	if (!ret_copy)
		return sim_leave(cudaErrorInvalidValue);
	cudaError_t error =
		sim_enter() ?: sim_error(sim_driver_calls.cuGraphMemcpyNodeGetParams(node, &parameters));
	if (!error)
		*ret_copy = from_driver(&parameters);
	return sim_leave(error);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *copy)
{
	if (!copy)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_MEMCPY3D parameters = to_driver(copy);
	return SIM_CALL(cuGraphMemcpyNodeSetParams(node, &parameters));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *destination,
	const void *source, size_t size_bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms copy = describe_1d(destination, source, size_bytes);

	(void)kind;
	return cudaGraphMemcpyNodeSetParams(node, &copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaMemcpy3DParms *copy)
{
	CUcontext context = NULL;

	if (!copy)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_MEMCPY3D parameters = to_driver(copy);
	return sim_leave(get_context(&context)
			?: sim_error(sim_driver_calls.cuGraphExecMemcpyNodeSetParams(exec, node, &parameters,
				   context)));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
	void *destination, const void *source, size_t size_bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms copy = describe_1d(destination, source, size_bytes);

	(void)kind;
	return cudaGraphExecMemcpyNodeSetParams(exec, node, &copy);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, const struct cudaMemsetParams *fill)
{
	CUcontext context = NULL;

	return sim_leave(get_context(&context)
			?: sim_error(sim_driver_calls.cuGraphAddMemsetNode(ret_node, graph, dependencies, count,
				   (const CUDA_MEMSET_NODE_PARAMS *)fill, context)));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaMemsetParams *fill)
{
	CUcontext context = NULL;

	return sim_leave(get_context(&context)
			?: sim_error(sim_driver_calls.cuGraphExecMemsetNodeSetParams(exec, node,
				   (const CUDA_MEMSET_NODE_PARAMS *)fill, context)));
}

/* Nodes of any type. */

static bool is_copy(const struct cudaGraphNodeParams *parameters)
{
	return parameters && parameters->type == cudaGraphNodeTypeMemcpy;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *parameters)
{
	if (is_copy(parameters))
		return cudaGraphMemcpyNodeSetParams(node, &parameters->memcpy.copyParams);
	return SIM_CALL(cuGraphNodeSetParams(node, (CUgraphNodeParams *)parameters));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	struct cudaGraphNodeParams *parameters)
{
	if (is_copy(parameters))
		return cudaGraphExecMemcpyNodeSetParams(exec, node, &parameters->memcpy.copyParams);
	return SIM_CALL(cuGraphExecNodeSetParams(exec, node, (CUgraphNodeParams *)parameters));
}
