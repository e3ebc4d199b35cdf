/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "copy.h"
#include "contexts/stream.h"

/* Copies. They copy the bytes, so a program can read back from the device what it wrote there. */

bool sim_is_device_memory(CUdeviceptr address, size_t size_bytes)
{
	struct sim_mapping_info mapping;
	bool is_valid = false;

	sim_lock();
	/* The range may extend over several adjacent mappings. */
	while (sim_mapping_find(address, &mapping)) {
		size_t part_bytes = mapping.range.start + mapping.range.size_bytes - address;
		if (size_bytes <= part_bytes) {
			is_valid = true;
			break;
		}
		address += part_bytes;
		size_bytes -= part_bytes;
	}
	const struct sim_block *block = is_valid ? NULL : sim_block_find(address);
	if (block)
		is_valid = size_bytes <= block->range.start + block->range.size_bytes - address;
	sim_unlock();
	return is_valid;
}

/* Copies memory. `checked` and `also_checked` must be addresses of device memory, or 0. */
static CUresult copy(void *destination, const void *source, size_t size_bytes, CUstream stream,
	CUdeviceptr checked, CUdeviceptr also_checked)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (size_bytes == 0)
		return CUDA_SUCCESS;
	if ((checked && !sim_is_device_memory(checked, size_bytes)) ||
		(also_checked && !sim_is_device_memory(also_checked, size_bytes)) || !destination ||
		!source)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D captured = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)source,
		.srcPitch = size_bytes,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)destination,
		.dstPitch = size_bytes,
		.WidthInBytes = size_bytes,
		.Height = 1,
		.Depth = 1,
	};
	if (!sim_capture_add_copy(stream, &captured))
		memmove(destination, source, size_bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t size_bytes,
	CUstream stream)
{
	return copy((void *)destination, source, size_bytes, stream, destination, 0);
}

CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t size_bytes,
	CUstream stream)
{
	return copy(destination, (const void *)source, size_bytes, stream, source, 0);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t size_bytes,
	CUstream stream)
{
	return copy((void *)destination, (const void *)source, size_bytes, stream, destination, source);
}

/* With unified addressing, each side may be any memory. */
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t size_bytes,
	CUstream stream)
{
	return copy((void *)destination, (const void *)source, size_bytes, stream, 0, 0);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destination_context,
	CUdeviceptr source, CUcontext source_context, size_t size_bytes, CUstream stream)
{
	(void)destination_context;
	(void)source_context;
	return cuMemcpyDtoDAsync_v2(destination, source, size_bytes, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void *source, size_t size_bytes)
{
	return cuMemcpyHtoDAsync_v2(destination, source, size_bytes, NULL);
}

CUresult cuMemcpyDtoH_v2(void *destination, CUdeviceptr source, size_t size_bytes)
{
	return cuMemcpyDtoHAsync_v2(destination, source, size_bytes, NULL);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t size_bytes)
{
	return cuMemcpyDtoDAsync_v2(destination, source, size_bytes, NULL);
}

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t size_bytes)
{
	return cuMemcpyAsync(destination, source, size_bytes, NULL);
}

CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
	CUcontext source_context, size_t size_bytes)
{
	return cuMemcpyPeerAsync(destination, destination_context, source, source_context, size_bytes,
		NULL);
}

/* --- two dimensions --------------------------------------------------------------------------- */

/* Returns one end of a copy. NULL: an array, whose content is not stored. */
static char *pointer_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	if (type == CU_MEMORYTYPE_HOST)
		return (char *)(uintptr_t)host;
	return type == CU_MEMORYTYPE_ARRAY ? NULL : (char *)device;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *parameters, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;

	const CUDA_MEMCPY2D *p = parameters;
	char *destination = pointer_of(p->dstMemoryType, p->dstHost, p->dstDevice);
	const char *source = pointer_of(p->srcMemoryType, p->srcHost, p->srcDevice);
	CUDA_MEMCPY3D captured = {
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};
	/* The content of arrays is not stored, so there is nothing to copy to or from an array. */
	if (sim_capture_add_copy(stream, &captured) || !destination || !source)
		return CUDA_SUCCESS;
	for (size_t row = 0; row < p->Height; row++)
		memmove(destination + (p->dstY + row) * p->dstPitch + p->dstXInBytes,
			source + (p->srcY + row) * p->srcPitch + p->srcXInBytes, p->WidthInBytes);
	return CUDA_SUCCESS;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *parameters)
{
	return cuMemcpy2DAsync_v2(parameters, NULL);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *parameters)
{
	return cuMemcpy2DAsync_v2(parameters, NULL);
}
