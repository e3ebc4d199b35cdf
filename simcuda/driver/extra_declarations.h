/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_EXTRA_DECLARATIONS_H
#define SIMCUDA_EXTRA_DECLARATIONS_H

/* Driver functions that some versions of the CUDA 13 headers do not declare, or cannot declare. */

#include <cuda.h>
#include <stddef.h>

/* From cudaProfiler.h. cuProfilerInitialize existed until CUDA 12. */
typedef enum { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 } CUoutput_mode;
CUresult cuProfilerInitialize(const char *settings_path, const char *output_path,
	CUoutput_mode mode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
/* From cudaGL.h, cudaEGL.h and cudaVDPAU.h. Those headers need the headers of the graphics APIs. */
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *ret_resource, unsigned int buffer,
	unsigned int flags);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *ret_resource, unsigned int image,
	unsigned int target, unsigned int flags);
CUresult cuGraphicsEGLRegisterImage(CUgraphicsResource *ret_resource, void *image,
	unsigned int flags);
CUresult cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource *ret_resource, unsigned int surface,
	unsigned int flags);
CUresult cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource *ret_resource,
	unsigned int surface, unsigned int flags);
/* Since CUDA 13.1. */
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle handle, CUdevice ordinal,
	size_t offset_bytes, CUmemGenericAllocationHandle memory, size_t memory_offset_bytes,
	size_t size_bytes, unsigned long long flags);
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle handle, CUdevice ordinal,
	size_t offset_bytes, CUdeviceptr address, size_t size_bytes, unsigned long long flags);
/* Since CUDA 13.3. Not supported here. */
#if CUDA_VERSION < 13030
CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
	CUresult (*callback)(void), void *data);
CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
	CUgraph graph, CUresult (*callback)(void), void *data);
#endif
/* Since CUDA 13.4. */
CUresult cuGraphAddNode_v3(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *edges, size_t dependency_count, CUgraphNodeParams *parameters);

/* The functions that only call another form, so that a new one needs only its row. */
#define ABI_ALIAS(symbol, name, version, stream, target, parameters, arguments) \
	CUresult symbol parameters;
#include "abi_aliases.def"
#undef ABI_ALIAS

#endif
