/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <string.h>

/*
 * Functions whose parameters CUDA 13 changed, in their CUDA 12 forms. CUDA 12 has the old form
 * under the plain name, and the new form under a name with a suffix. CUDA 13 has the new form under
 * the plain name.
 */

/*
 * Begins the definition of an exported function. Its C name differs from its symbol, because the
 * header of CUDA 13 declares the symbol with other parameters.
 */
#define DEFINE(symbol, parameters) \
	cudaError_t sim12_##symbol parameters __asm__(#symbol) __attribute__((visibility("default"))); \
	cudaError_t sim12_##symbol parameters

/* --- properties ------------------------------------------------------------------------------- */

/* struct cudaDeviceProp of CUDA 12. Its tail is reserved. */
struct properties12 {
	char name[256];
	CUuuid uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
	size_t totalConstMem;
	int major, minor;
	size_t textureAlignment, texturePitchAlignment;
	int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
		computeMode;
	int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2],
		maxTexture2DMipmap[2];
	int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3];
	int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3],
		maxTextureCubemapLayered[2];
	int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2],
		maxSurface2DLayered[3];
	int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
		asyncEngineCount;
	int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported,
		localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
		hostNativeAtomicSupported;
	int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess;
	int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
	int cooperativeMultiDeviceLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
		maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
	unsigned int gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned int memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch,
		unifiedFunctionPointers;
	int reserved[63];
};

_Static_assert(sizeof(struct properties12) == 1032,
	"the size that programs built with CUDA 12 give it");

static cudaError_t fill_properties(struct properties12 *ret_properties, int device)
{
	int value;

	if (!ret_properties)
		return cudaErrorInvalidValue;
	memset(ret_properties, 0, sizeof(*ret_properties));
	cudaError_t error = sim_query_identity(device, &ret_properties->name,
		&ret_properties->totalGlobalMem, &ret_properties->uuid);
	if (error)
		return error;

#define PROPERTY(field, attribute) \
	error = sim_error(sim_driver_calls.cuDeviceGetAttribute(&value, \
		CU_DEVICE_ATTRIBUTE_##attribute, device)); \
	if (error) \
		return error; \
	ret_properties->field = (__typeof__(ret_properties->field))value;
#include "properties.def"
	PROPERTY(clockRate, CLOCK_RATE)
	PROPERTY(memoryClockRate, MEMORY_CLOCK_RATE)
	PROPERTY(deviceOverlap, GPU_OVERLAP)
#undef PROPERTY
	return cudaSuccess;
}

DEFINE(cudaGetDeviceProperties_v2, (struct properties12 * ret_properties, int device))
{
	return sim_leave(fill_properties(ret_properties, device));
}

/* --- pointers --------------------------------------------------------------------------------- */

/* struct cudaPointerAttributes of CUDA 12. It lacks the reserved tail of CUDA 13. */
struct pointer_attributes12 {
	enum cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
};

_Static_assert(sizeof(struct pointer_attributes12) == 24,
	"the size that programs built with CUDA 12 give it");

DEFINE(cudaPointerGetAttributes,
	(struct pointer_attributes12 * ret_attributes, const void *pointer))
{
	struct sim_pointer found;
	cudaError_t error =
		ret_attributes ? sim_describe_pointer(pointer, &found) : cudaErrorInvalidValue;

	if (!error)
		*ret_attributes = (struct pointer_attributes12){ found.type, found.device,
			found.device_pointer, found.host_pointer };
	return sim_leave(error);
}

/* --- managed memory --------------------------------------------------------------------------- */

DEFINE(cudaMemAdvise,
	(const void *address, size_t size_bytes, enum cudaMemoryAdvise advice, int device))
{
	return SIM_CALL(cuMemAdvise((CUdeviceptr)address, size_bytes, (CUmem_advise)advice, device));
}

DEFINE(cudaMemAdvise_v2,
	(const void *address, size_t size_bytes, enum cudaMemoryAdvise advice, CUmemLocation location))
{
	return SIM_CALL(cuMemAdvise_v2((CUdeviceptr)address, size_bytes, (CUmem_advise)advice,
		location));
}

/* --- graphs ----------------------------------------------------------------------------------- */

DEFINE(cudaGraphAddNode,
	(cudaGraphNode_t * ret_node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
		size_t count, CUgraphNodeParams *parameters))
{
	return SIM_CALL(cuGraphAddNode(ret_node, graph, dependencies, count, parameters));
}

DEFINE(cudaGraphAddNode_v2,
	(cudaGraphNode_t * ret_node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
		const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *parameters))
{
	return SIM_CALL(cuGraphAddNode_v2(ret_node, graph, dependencies, edges, count, parameters));
}

DEFINE(cudaGraphNodeGetDependencies,
	(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, size_t *count))
{
	return SIM_CALL(cuGraphNodeGetDependencies(node, ret_nodes, count));
}

DEFINE(cudaGraphNodeGetDependencies_v2,
	(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, CUgraphEdgeData *ret_edges, size_t *count))
{
	return SIM_CALL(cuGraphNodeGetDependencies_v2(node, ret_nodes, ret_edges, count));
}

DEFINE(cudaGraphNodeGetDependentNodes,
	(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, size_t *count))
{
	return SIM_CALL(cuGraphNodeGetDependentNodes(node, ret_nodes, count));
}

DEFINE(cudaGraphNodeGetDependentNodes_v2,
	(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, CUgraphEdgeData *ret_edges, size_t *count))
{
	return SIM_CALL(cuGraphNodeGetDependentNodes_v2(node, ret_nodes, ret_edges, count));
}

DEFINE(cudaGraphGetEdges,
	(cudaGraph_t graph, cudaGraphNode_t *ret_from, cudaGraphNode_t *ret_to, size_t *count))
{
	return SIM_CALL(cuGraphGetEdges(graph, ret_from, ret_to, count));
}

DEFINE(cudaGraphGetEdges_v2,
	(cudaGraph_t graph, cudaGraphNode_t *ret_from, cudaGraphNode_t *ret_to,
		CUgraphEdgeData *ret_edges, size_t *count))
{
	return SIM_CALL(cuGraphGetEdges_v2(graph, ret_from, ret_to, ret_edges, count));
}

DEFINE(cudaGraphAddDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count))
{
	return SIM_CALL(cuGraphAddDependencies(graph, from, to, count));
}

DEFINE(cudaGraphAddDependencies_v2,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
		const CUgraphEdgeData *edges, size_t count))
{
	return SIM_CALL(cuGraphAddDependencies_v2(graph, from, to, edges, count));
}

DEFINE(cudaGraphRemoveDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count))
{
	return SIM_CALL(cuGraphRemoveDependencies(graph, from, to, count));
}

DEFINE(cudaGraphRemoveDependencies_v2,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
		const CUgraphEdgeData *edges, size_t count))
{
	return SIM_CALL(cuGraphRemoveDependencies_v2(graph, from, to, edges, count));
}

/* --- streams; STREAM(suffix): for legacy (no suffix) and per-thread streams ------------------- */

#define STREAM(suffix) \
	DEFINE(cudaMemPrefetchAsync##suffix, \
		(const void *address, size_t size_bytes, int device, cudaStream_t stream)) \
	{ \
		return SIM_CALL(cuMemPrefetchAsync##suffix((CUdeviceptr)address, size_bytes, device, \
			stream)); \
	} \
	DEFINE(cudaMemPrefetchAsync_v2##suffix, \
		(const void *address, size_t size_bytes, CUmemLocation location, unsigned int flags, \
			cudaStream_t stream)) \
	{ \
		return SIM_CALL(cuMemPrefetchAsync_v2##suffix((CUdeviceptr)address, size_bytes, location, \
			flags, stream)); \
	} \
	DEFINE(cudaStreamGetCaptureInfo##suffix, \
		(cudaStream_t stream, CUstreamCaptureStatus * ret_status, cuuint64_t * ret_id)) \
	{ \
		return SIM_CALL(cuStreamGetCaptureInfo##suffix(stream, ret_status, ret_id)); \
	} \
	DEFINE(cudaStreamGetCaptureInfo_v2##suffix, \
		(cudaStream_t stream, CUstreamCaptureStatus * ret_status, cuuint64_t * ret_id, \
			cudaGraph_t * ret_graph, const cudaGraphNode_t **ret_dependencies, size_t *ret_count)) \
	{ \
		return SIM_CALL(cuStreamGetCaptureInfo_v2##suffix(stream, ret_status, ret_id, ret_graph, \
			ret_dependencies, ret_count)); \
	} \
	DEFINE(cudaStreamGetCaptureInfo_v3##suffix, \
		(cudaStream_t stream, CUstreamCaptureStatus * ret_status, cuuint64_t * ret_id, \
			cudaGraph_t * ret_graph, const cudaGraphNode_t **ret_dependencies, \
			const CUgraphEdgeData **ret_edges, size_t *ret_count)) \
	{ \
		return SIM_CALL(cuStreamGetCaptureInfo_v3##suffix(stream, ret_status, ret_id, ret_graph, \
			ret_dependencies, ret_edges, ret_count)); \
	} \
	DEFINE(cudaStreamUpdateCaptureDependencies##suffix, \
		(cudaStream_t stream, cudaGraphNode_t * dependencies, size_t count, unsigned int flags)) \
	{ \
		return SIM_CALL(cuStreamUpdateCaptureDependencies##suffix(stream, dependencies, count, \
			flags)); \
	} \
	DEFINE(cudaStreamUpdateCaptureDependencies_v2##suffix, \
		(cudaStream_t stream, cudaGraphNode_t * dependencies, const CUgraphEdgeData *edges, \
			size_t count, unsigned int flags)) \
	{ \
		return SIM_CALL(cuStreamUpdateCaptureDependencies_v2##suffix(stream, dependencies, edges, \
			count, flags)); \
	}

STREAM()
STREAM(_ptsz)
#undef STREAM

/* --- old names, from the time when a context belonged to a thread ----------------------------- */

DEFINE(cudaThreadSynchronize, (void))
{
	return cudaDeviceSynchronize();
}

DEFINE(cudaThreadExit, (void))
{
	return cudaDeviceReset();
}

DEFINE(cudaThreadSetLimit, (enum cudaLimit limit, size_t value))
{
	return cudaDeviceSetLimit(limit, value);
}

DEFINE(cudaThreadGetLimit, (size_t *ret_value, enum cudaLimit limit))
{
	return cudaDeviceGetLimit(ret_value, limit);
}
