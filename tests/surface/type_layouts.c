/* SPDX-License-Identifier: MIT */
/*
 * Prints the size of each type that missing_cuda_types.h defines for old headers, and the offsets
 * of the members that wrappers read. The test compiles this file with old and new CUDA headers, and
 * compares the output.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>

#include "wrappers/missing_cuda_types.h"

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define MEMBER(type, member) \
	printf(#type "." #member " %zu %zu\n", offsetof(type, member), sizeof(((type *)0)->member))

int main(void)
{
	SIZE(CUlibrary);
	SIZE(CUlibraryOption);
	SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS);
	MEMBER(CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
	MEMBER(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
	MEMBER(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
	MEMBER(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
	SIZE(CUmulticastObjectProp);
	MEMBER(CUmulticastObjectProp, numDevices);
	MEMBER(CUmulticastObjectProp, size);
	MEMBER(CUmulticastObjectProp, handleTypes);
	MEMBER(CUmulticastObjectProp, flags);
	SIZE(CUgraphNodeParams);
	MEMBER(CUgraphNodeParams, type);
	MEMBER(CUgraphNodeParams, alloc);
	MEMBER(CUgraphNodeParams, alloc.poolProps);
	MEMBER(CUgraphNodeParams, alloc.poolProps.location);
	MEMBER(CUgraphNodeParams, alloc.bytesize);
	MEMBER(CUgraphNodeParams, alloc.dptr);
	MEMBER(CUgraphNodeParams, free.dptr);
	SIZE(CUgreenCtx);
	SIZE(CUdevResourceDesc);
	/* Every header has these types; their layout must be the same in all of them. */
	SIZE(CUmemAllocationProp);
	MEMBER(CUmemAllocationProp, location);
	SIZE(CUmemPoolProps);
	MEMBER(CUmemPoolProps, location);
	MEMBER(CUmemLocation, type);
	MEMBER(CUmemLocation, id);
	SIZE(CUDA_ARRAY_DESCRIPTOR);
	SIZE(CUDA_ARRAY3D_DESCRIPTOR);
	MEMBER(CUDA_ARRAY3D_DESCRIPTOR, Flags);
	MEMBER(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
	MEMBER(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
	SIZE(CUipcMemHandle);
	return 0;
}
