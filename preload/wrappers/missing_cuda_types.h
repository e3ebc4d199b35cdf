/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_MISSING_CUDA_TYPES_H
#define GMT_WRAPPERS_MISSING_CUDA_TYPES_H

/*
 * Driver types that the cuda.h of an older toolkit lacks. With them, any headers from CUDA 11.8 on
 * give the same recorder. Include this file after <cuda.h>. A type has no members if a wrapper only
 * passes a pointer to it on. If a wrapper reads members, they have the driver's offsets. A test
 * compares them with a newer cuda.h.
 */

#if CUDA_VERSION < 12000
typedef struct CUlib_st *CUlibrary;
typedef int CUlibraryOption;

typedef struct {
	unsigned long long flags;
	CUstream hUploadStream;
	CUgraphNode hErrNode_out;
	int result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;
#endif

#if CUDA_VERSION < 12010
typedef struct {
	unsigned numDevices;
	size_t size;
	unsigned long long handleTypes;
	unsigned long long flags;
} CUmulticastObjectProp;
#endif

#if CUDA_VERSION < 12020
typedef struct {
	CUdeviceptr dptr;
} CUDA_MEM_FREE_NODE_PARAMS;

typedef struct {
	CUgraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		CUDA_MEM_ALLOC_NODE_PARAMS alloc;
		CUDA_MEM_FREE_NODE_PARAMS free;
	};
	long long reserved2;
} CUgraphNodeParams;
#endif

#if CUDA_VERSION < 12030
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
#endif

#if CUDA_VERSION < 12040
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
#endif

#if CUDA_VERSION < 12050
typedef struct CUctxCreateParams_st CUctxCreateParams;
#endif

#if CUDA_VERSION < 13000
#define CU_MEM_ALLOCATION_TYPE_MANAGED 2 /* a value of CUmemAllocationType */
#endif

#if CUDA_VERSION < 13030
typedef void (*CUgraphRecaptureCallback)(void);
#endif

#endif
