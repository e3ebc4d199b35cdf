/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <string.h>

/*
 * Memory of other APIs. Each field of a description is copied separately, because the driver's
 * struct is larger.
 */

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t *ret_memory,
	const struct cudaExternalMemoryHandleDesc *description)
{
	if (!description)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC wanted = {
		.type = (CUexternalMemoryHandleType)description->type,
		.size = description->size,
		.flags = description->flags,
	};
	_Static_assert(sizeof(wanted.handle) == sizeof(description->handle), "handles are alike");
	memcpy(&wanted.handle, &description->handle, sizeof(wanted.handle));
	return SIM_CALL(cuImportExternalMemory((CUexternalMemory *)ret_memory, &wanted));
}

cudaError_t cudaExternalMemoryGetMappedBuffer(void **ret_address, cudaExternalMemory_t memory,
	const struct cudaExternalMemoryBufferDesc *description)
{
	if (!description)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC wanted = {
		.offset = description->offset,
		.size = description->size,
		.flags = description->flags,
	};
	return SIM_CALL(cuExternalMemoryGetMappedBuffer((CUdeviceptr *)ret_address,
		(CUexternalMemory)memory, &wanted));
}

cudaError_t cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t *ret_array,
	cudaExternalMemory_t memory, const struct cudaExternalMemoryMipmappedArrayDesc *description)
{
	if (!description)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC wanted = {
		.offset = description->offset,
		.arrayDesc =
			sim_describe_array(&description->formatDesc, description->extent, description->flags),
		.numLevels = description->numLevels,
	};
	return SIM_CALL(cuExternalMemoryGetMappedMipmappedArray((CUmipmappedArray *)ret_array,
		(CUexternalMemory)memory, &wanted));
}

/* --- graphics; the headers that declare these functions need headers of other APIs ------------ */

#pragma GCC visibility push(default)
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **ret_resource,
	unsigned int buffer, unsigned int flags);
cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **ret_resource,
	unsigned int image, unsigned int target, unsigned int flags);
#pragma GCC visibility pop

cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **ret_resource,
	unsigned int buffer, unsigned int flags)
{
	return SIM_CALL(cuGraphicsGLRegisterBuffer((CUgraphicsResource *)ret_resource, buffer, flags));
}

cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **ret_resource,
	unsigned int image, unsigned int target, unsigned int flags)
{
	return SIM_CALL(cuGraphicsGLRegisterImage((CUgraphicsResource *)ret_resource, image, target,
		flags));
}
