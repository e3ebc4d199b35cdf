/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdlib.h>

#include "contexts/stream.h"

/* Pools, and allocation from them in stream order. Stream order is program order here. */

static struct CUmemPoolHandle_st *pools;

struct CUmemPoolHandle_st *sim_pool_new(struct sim_device *device, const CUmemPoolProps *properties)
{
	struct CUmemPoolHandle_st *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->device = device;
	pool->id = sim_next_id();
	pool->properties = *properties;
	pool->maximum_bytes = properties->maxSize;
	pool->access[device ? device->ordinal : SIM_MAX_DEVICES] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
	pool->next = pools;
	pools = pool;
	return pool;
}

bool sim_pool_is_live(const struct CUmemPoolHandle_st *pool)
{
	for (const struct CUmemPoolHandle_st *live = pools; live; live = live->next)
		if (live == pool)
			return !live->is_destroyed;
	return false;
}

CUresult sim_pools_setup(struct sim_device *device)
{
	CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal },
	};
	struct CUmemPoolHandle_st *pool = sim_pool_new(device, &properties);

	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->is_default = true;
	device->default_pool = device->current_pool = pool;
	return CUDA_SUCCESS;
}

/* --- used and reserved bytes ------------------------------------------------------------------ */

static void shrink(struct CUmemPoolHandle_st *pool, uint64_t keep_bytes)
{
	uint64_t needed_bytes = sim_round_up(pool->used_bytes, SIM_GRANULARITY_BYTES);
	uint64_t target_bytes = keep_bytes > needed_bytes ? keep_bytes : needed_bytes;

	if (target_bytes >= pool->reserved_bytes)
		return;
	/* Only whole units leave the pool. A unit that contains the threshold stays. */
	target_bytes = sim_round_up(target_bytes, SIM_GRANULARITY_BYTES);
	if (target_bytes >= pool->reserved_bytes)
		return;
	if (pool->device)
		sim_device_refund(pool->device, pool->reserved_bytes - target_bytes);
	pool->reserved_bytes = target_bytes;
}

void sim_pools_trim(void)
{
	for (struct CUmemPoolHandle_st *pool = pools; pool; pool = pool->next)
		shrink(pool, pool->release_threshold_bytes);
}

/*
 * Makes room for `size_bytes` more. Takes device memory if the pool's reserved memory is too small.
 */
static bool grow(struct CUmemPoolHandle_st *pool, uint64_t size_bytes)
{
	uint64_t needed_bytes = pool->used_bytes + size_bytes;

	if (pool->maximum_bytes && needed_bytes > pool->maximum_bytes)
		return false;
	if (needed_bytes <= pool->reserved_bytes)
		return true;

	uint64_t more_bytes = sim_round_up(needed_bytes, SIM_GRANULARITY_BYTES) - pool->reserved_bytes;
	if (pool->device && !sim_device_charge(pool->device, more_bytes)) {
		/* Before an allocation fails, other pools give up their unused reserved memory. */
		for (struct CUmemPoolHandle_st *other = pools; other; other = other->next)
			if (other != pool && other->device == pool->device)
				shrink(other, 0);
		if (!sim_device_charge(pool->device, more_bytes))
			return false;
	}
	pool->reserved_bytes += more_bytes;
	if (pool->reserved_bytes > pool->reserved_high_bytes)
		pool->reserved_high_bytes = pool->reserved_bytes;
	return true;
}

static void pool_forget(struct CUmemPoolHandle_st *pool)
{
	struct CUmemPoolHandle_st **link = &pools;

	shrink(pool, 0);
	while (*link != pool)
		link = &(*link)->next;
	*link = pool->next;
	free(pool);
}

void sim_pool_free_block(struct sim_block *block)
{
	struct CUmemPoolHandle_st *pool = block->pool;

	pool->used_bytes -= block->charged_bytes;
	sim_block_free(block);
	if (pool->is_destroyed && pool->used_bytes == 0)
		pool_forget(pool);
}

/* --- allocation ------------------------------------------------------------------------------- */

static struct sim_block *pool_allocate(struct CUmemPoolHandle_st *pool, size_t size_bytes)
{
	uint64_t charged_bytes = sim_round_up(size_bytes, SIM_CHARGE_UNIT_BYTES);

	if (charged_bytes < size_bytes || (pool->device && size_bytes > pool->device->capacity_bytes))
		return NULL;
	if (!grow(pool, charged_bytes))
		return NULL;
	struct sim_block *block = sim_block_new(SIM_SPACE_POOL, size_bytes);
	if (!block)
		return NULL;
	block->device = pool->device;
	block->pool = pool;
	block->charged_bytes = charged_bytes;
	pool->used_bytes += charged_bytes;
	if (pool->used_bytes > pool->used_high_bytes)
		pool->used_high_bytes = pool->used_bytes;
	return block;
}

/* Allocates from a pool. `pool` NULL: the current pool of the stream's device. */
static CUresult allocate_async(CUdeviceptr *ret_address, size_t size_bytes, CUmemoryPool pool,
	CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_address || size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (!pool)
		pool = context->device->current_pool;
	if (!sim_pool_is_live(pool) || pool->is_imported) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else if (sim_stream_is_capturing(stream)) {
		/* Allocations in a graph are always device memory. */
		result = pool->device
			? sim_capture_add_allocation(stream, size_bytes, pool->device, ret_address)
			: CUDA_ERROR_NOT_SUPPORTED;
	} else {
		struct sim_block *block = pool_allocate(pool, size_bytes);
		if (block)
			*ret_address = block->range.start;
		else
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t size_bytes, CUstream stream)
{
	return allocate_async(ret_address, size_bytes, NULL, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t size_bytes, CUmemoryPool pool,
	CUstream stream)
{
	return pool ? allocate_async(ret_address, size_bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (address == 0)
		return CUDA_SUCCESS;

	sim_lock();
	struct sim_block *block = sim_block_find_start(address);
	if (sim_stream_is_capturing(stream)) {
		result = sim_capture_add_free(stream, address);
	} else if (!block) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else if (block->space == SIM_SPACE_POOL) {
		sim_pool_free_block(block);
	} else if (block->space == SIM_SPACE_DEVICE || block->space == SIM_SPACE_GRAPH ||
		block->space == SIM_SPACE_IMPORTED) {
		sim_block_free(block);
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

/* --- pools as objects ------------------------------------------------------------------------- */

static CUresult check_properties(const CUmemPoolProps *properties)
{
	unsigned int types = (unsigned int)properties->handleTypes;

	if (!sim_pool_location_is_valid(&properties->location, properties->allocType))
		return CUDA_ERROR_INVALID_VALUE;
	/* Host memory and managed memory cannot be shared with other processes. */
	if (types != CU_MEM_HANDLE_TYPE_NONE &&
		(properties->location.type == CU_MEM_LOCATION_TYPE_HOST ||
			properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED))
		return CUDA_ERROR_INVALID_VALUE;
	return types & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
		? CUDA_ERROR_NOT_SUPPORTED
		: CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *properties)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_pool || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = check_properties(properties);
	if (result != CUDA_SUCCESS)
		return result;

	/*
	 * No device is charged for managed memory until the memory is touched, whatever its preferred
	 * location is.
	 */
	bool is_charged = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
	sim_lock();
	struct CUmemPoolHandle_st *pool =
		sim_pool_new(is_charged ? sim_device_find(properties->location.id) : NULL, properties);
	if (pool)
		*ret_pool = pool;
	sim_unlock();
	return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!sim_pool_is_live(pool) || pool->is_default) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		sim_pool_unset_current(pool);
		pool->is_destroyed = true;
		pool->release_threshold_bytes = 0;
		if (pool->used_bytes == 0)
			pool_forget(pool);
	}
	sim_unlock();
	return result;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	sim_lock();
	bool live = sim_pool_is_live(pool);
	if (live)
		shrink(pool, keep_bytes);
	sim_unlock();
	return live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void sim_pools_list(struct sim_list *list)
{
	for (const struct CUmemPoolHandle_st *pool = pools; pool; pool = pool->next)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_POOL,
				.device = sim_ordinal_of(pool->device),
				.address = (uintptr_t)pool,
				.size_bytes = pool->used_bytes,
				.charged_bytes = pool->device ? pool->reserved_bytes : 0,
			});
}
