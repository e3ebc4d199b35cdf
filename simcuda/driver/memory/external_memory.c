/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>

#include "array.h"

/*
 * Memory of another API, for example Vulkan. It is imported as an object. A program reaches it
 * through buffers and arrays mapped from the object. Each of them is freed separately and outlives
 * the object. The other API pays for the memory. The mapped memory has its own content, and the
 * driver ignores the handle of the other API.
 */

struct CUextMemory_st {
	struct CUextMemory_st *next;
	struct CUctx_st *context;
	size_t size_bytes;
};

static struct CUextMemory_st *memories;

/* The caller holds the lock. */
static bool is_live(const struct CUextMemory_st *memory)
{
	for (const struct CUextMemory_st *live = memories; live; live = live->next)
		if (live == memory)
			return true;
	return false;
}

CUresult cuImportExternalMemory(CUexternalMemory *ret_memory,
	const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_memory || !descriptor || descriptor->size == 0 ||
		descriptor->type < CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
		descriptor->type > CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD ||
		(descriptor->flags & ~(unsigned int)CUDA_EXTERNAL_MEMORY_DEDICATED))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUextMemory_st *memory = malloc(sizeof(*memory));
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	*memory = (struct CUextMemory_st){ memories, context, descriptor->size };
	memories = memory;
	sim_unlock();
	*ret_memory = memory;
	return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ret_address, CUexternalMemory memory,
	const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_address || !descriptor || descriptor->size == 0 || descriptor->flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!is_live(memory)) {
		result = CUDA_ERROR_INVALID_HANDLE;
	} else if (descriptor->offset > memory->size_bytes ||
		descriptor->size > memory->size_bytes - descriptor->offset) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		struct sim_block *block = sim_block_new(SIM_SPACE_EXTERNAL, descriptor->size);
		result = block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (block) {
			block->context = context;
			block->device = context->device;
			block->owner = (uintptr_t)memory;
			*ret_address = block->range.start;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *ret_mipmap,
	CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);
	size_t size_bytes = 0;

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_mipmap || !descriptor || sim_array_bytes(&descriptor->arrayDesc, 0) == 0 ||
		descriptor->numLevels == 0 ||
		descriptor->numLevels > sim_array_level_limit(&descriptor->arrayDesc))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int level = 0; level < descriptor->numLevels && size_bytes < SIZE_MAX / 2;
		level++)
		size_bytes += sim_array_bytes(&descriptor->arrayDesc, level);

	sim_lock();
	if (!is_live(memory)) {
		result = CUDA_ERROR_INVALID_HANDLE;
	} else if (descriptor->offset > memory->size_bytes ||
		size_bytes > memory->size_bytes - descriptor->offset) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		struct CUmipmappedArray_st *mipmap = sim_mipmap_new_foreign(context, &descriptor->arrayDesc,
			descriptor->numLevels, (uintptr_t)memory);
		result = mipmap ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (mipmap)
			*ret_mipmap = mipmap;
	}
	sim_unlock();
	return result;
}

static void memory_free(struct CUextMemory_st **link)
{
	struct CUextMemory_st *memory = *link;

	*link = memory->next;
	free(memory);
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUextMemory_st **link = &memories; *link; link = &(*link)->next) {
		if (*link == memory) {
			memory_free(link);
			result = CUDA_SUCCESS;
			break;
		}
	}
	sim_unlock();
	return result;
}

void sim_external_free_of_context(const struct CUctx_st *context)
{
	for (struct CUextMemory_st **link = &memories; *link;) {
		if ((*link)->context == context)
			memory_free(link);
		else
			link = &(*link)->next;
	}
}

void sim_external_list(struct sim_list *list)
{
	for (const struct CUextMemory_st *memory = memories; memory; memory = memory->next)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_EXTERNAL_MEMORY,
				.device = memory->context->device->ordinal,
				.address = (uintptr_t)memory,
				.context = (uintptr_t)memory->context,
				.size_bytes = memory->size_bytes,
			});
}
