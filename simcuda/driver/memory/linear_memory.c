/* SPDX-License-Identifier: MIT */
#include "driver.h"

/* Linear device memory: cuMemAlloc and its variants, cuMemFree, and the amount of free memory. */

enum { PITCH_UNIT_BYTES = 512 };

CUresult sim_memory_allocate(CUdeviceptr *ret_address, size_t size_bytes, enum sim_space space,
	unsigned int flags, bool is_low)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_address || size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_capture_check_unsafe_call();
	if (result != CUDA_SUCCESS)
		return result;

	struct sim_device *device = context->device;
	/* Managed memory lives where it was last accessed, and simulated kernels access no memory. */
	bool is_charged = space == SIM_SPACE_DEVICE && size_bytes <= device->capacity_bytes;
	size_t charged_bytes = is_charged ? sim_round_up(size_bytes, SIM_CHARGE_UNIT_BYTES) : 0;

	if (space == SIM_SPACE_DEVICE && !is_charged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	struct sim_block *block = NULL;
	if (sim_device_charge(device, charged_bytes)) {
		block = is_low ? sim_block_new_low(space, size_bytes) : sim_block_new(space, size_bytes);
		if (!block)
			sim_device_refund(device, charged_bytes);
	}
	if (block) {
		block->device = device;
		block->context = context;
		block->charged_bytes = charged_bytes;
		block->flags = flags;
		*ret_address = block->range.start;
	}
	sim_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t size_bytes)
{
	return sim_memory_allocate(ret_address, size_bytes, SIM_SPACE_DEVICE, 0, false);
}

CUresult sim_pitch(size_t width_bytes, size_t height, unsigned int element_size_bytes,
	size_t *ret_pitch_bytes, size_t *ret_size_bytes)
{
	if (width_bytes == 0 || height == 0 ||
		(element_size_bytes != 4 && element_size_bytes != 8 && element_size_bytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pitch_bytes = sim_round_up(width_bytes, PITCH_UNIT_BYTES);
	return *ret_pitch_bytes < width_bytes ||
			__builtin_mul_overflow(*ret_pitch_bytes, height, ret_size_bytes)
		? CUDA_ERROR_OUT_OF_MEMORY
		: CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch_bytes, size_t width_bytes,
	size_t height, unsigned int element_size_bytes)
{
	size_t pitch_bytes, size_bytes;
	CUresult result = ret_pitch_bytes
		? sim_pitch(width_bytes, height, element_size_bytes, &pitch_bytes, &size_bytes)
		: CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		result = sim_memory_allocate(ret_address, size_bytes, SIM_SPACE_DEVICE, 0, false);
	if (result == CUDA_SUCCESS)
		*ret_pitch_bytes = pitch_bytes;
	return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t size_bytes, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_memory_allocate(ret_address, size_bytes, SIM_SPACE_MANAGED, flags, false);
}

static bool is_freed_by_mem_free(enum sim_space space)
{
	return space == SIM_SPACE_DEVICE || space == SIM_SPACE_MANAGED || space == SIM_SPACE_POOL ||
		space == SIM_SPACE_GRAPH || space == SIM_SPACE_EXTERNAL || space == SIM_SPACE_IMPORTED;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (address == 0)
		return CUDA_SUCCESS;
	result = sim_capture_check_unsafe_call();
	if (result != CUDA_SUCCESS)
		return result;

	sim_lock();
	struct sim_block *block = sim_block_find_start(address);
	if (!block || !is_freed_by_mem_free(block->space)) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else if (block->pool) {
		/*
		 * cuMemFree waits for the device, so pools may give memory back. cuMemFreeAsync does not
		 * wait.
		 */
		sim_pool_free_block(block);
		sim_pools_trim();
	} else {
		sim_block_free(block);
	}
	sim_unlock();
	return result;
}

CUresult cuMemGetInfo_v2(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_free_bytes || !ret_total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	sim_physicals_drop_unused();
	*ret_free_bytes = context->device->capacity_bytes - context->device->used_bytes;
	*ret_total_bytes = context->device->capacity_bytes;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_size_bytes, CUdeviceptr address)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;

	struct sim_mapping_info mapping;
	sim_lock();
	const struct sim_block *block = sim_block_find(address);
	const struct sim_range *range = NULL;
	if (block)
		range = &block->range;
	else if (sim_mapping_find(address, &mapping))
		range = &mapping.range;
	if (range && ret_base)
		*ret_base = range->start;
	if (range && ret_size_bytes)
		*ret_size_bytes = range->size_bytes;
	sim_unlock();
	return range ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Hints about the place of managed memory. They have no effect, because no memory moves. */

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size_bytes, CUmem_advise advice,
	CUmemLocation location)
{
	struct CUctx_st *context;

	(void)address;
	(void)size_bytes;
	(void)advice;
	(void)location;
	return sim_context_get_current(&context);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size_bytes, CUmem_advise advice, CUdevice ordinal)
{
	return cuMemAdvise_v2(address, size_bytes, advice,
		(CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size_bytes, CUmemLocation location,
	unsigned int flags, CUstream stream)
{
	struct CUctx_st *context;

	(void)address;
	(void)size_bytes;
	(void)location;
	(void)flags;
	(void)stream;
	return sim_context_get_current(&context);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size_bytes, CUdevice ordinal,
	CUstream stream)
{
	return cuMemPrefetchAsync_v2(address, size_bytes,
		(CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal }, 0, stream);
}
