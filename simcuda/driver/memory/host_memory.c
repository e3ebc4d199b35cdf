/* SPDX-License-Identifier: MIT */
#include "driver.h"

/*
 * Host memory that the device can access: pinned memory that the driver allocates, or registered
 * memory of the program.
 */

CUresult sim_host_allocate(void **ret_memory, size_t size_bytes, unsigned int flags, bool is_low)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_memory || size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_capture_check_unsafe_call();
	if (result != CUDA_SUCCESS)
		return result;

	sim_lock();
	struct sim_block *block = is_low ? sim_block_new_low(SIM_SPACE_PINNED, size_bytes)
									 : sim_block_new(SIM_SPACE_PINNED, size_bytes);
	if (block) {
		block->context = context;
		block->flags = flags;
		*ret_memory = (void *)block->range.start;
	}
	sim_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostAlloc(void **ret_memory, size_t size_bytes, unsigned int flags)
{
	return sim_host_allocate(ret_memory, size_bytes, flags, false);
}

CUresult cuMemAllocHost_v2(void **ret_memory, size_t size_bytes)
{
	return cuMemHostAlloc(ret_memory, size_bytes, 0);
}

/*
 * Frees the block of this space that starts at `memory`. If there is no such block, returns the
 * error `missing`.
 */
static CUresult free_host(void *memory, enum sim_space space, CUresult missing)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	result = sim_capture_check_unsafe_call();
	if (result != CUDA_SUCCESS)
		return result;

	sim_lock();
	struct sim_block *block = sim_block_find_start((uintptr_t)memory);
	if (block && block->space == space)
		sim_block_free(block);
	else
		result = missing;
	sim_unlock();
	return result;
}

CUresult cuMemFreeHost(void *memory)
{
	return free_host(memory, SIM_SPACE_PINNED, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(void *memory, size_t size_bytes, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!memory || size_bytes == 0 || (uintptr_t)memory + size_bytes < (uintptr_t)memory)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (sim_ranges_overlap(&sim_driver.blocks, (uintptr_t)memory, size_bytes)) {
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	} else {
		struct sim_block *block =
			sim_block_new_at(SIM_SPACE_REGISTERED, (uintptr_t)memory, size_bytes);
		if (block) {
			block->context = context;
			block->flags = flags;
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuMemHostUnregister(void *memory)
{
	return free_host(memory, SIM_SPACE_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/*
 * Stores the flags with which the block around `memory` was allocated or registered. The device
 * uses the same address as the host, as with unified addressing.
 */
static CUresult find_host(void *memory, unsigned int *ret_flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	const struct sim_block *block = sim_block_find((uintptr_t)memory);
	if (!block || (block->space != SIM_SPACE_PINNED && block->space != SIM_SPACE_REGISTERED))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		*ret_flags = block->flags;
	sim_unlock();
	return result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_address, void *memory, unsigned int flags)
{
	unsigned int block_flags;

	if (!ret_address || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = find_host(memory, &block_flags);
	if (result == CUDA_SUCCESS)
		*ret_address = (uintptr_t)memory;
	return result;
}

CUresult cuMemHostGetFlags(unsigned int *ret_flags, void *memory)
{
	return ret_flags ? find_host(memory, ret_flags) : CUDA_ERROR_INVALID_VALUE;
}
