/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "pool.h"

/*
 * Finds the memory pools of a location. Each device has a default pool and a current pool. The
 * pools of any other location are created by the first query about it.
 */

struct location_pools {
	struct location_pools *next;
	CUmemLocation location;
	CUmemAllocationType type;
	struct CUmemPoolHandle_st *default_pool, *current_pool;
};

static struct location_pools *all_location_pools;

static bool is_same(const CUmemLocation *a, const CUmemLocation *b)
{
	/* Only locations of these types have a meaningful id. */
	bool has_id =
		a->type == CU_MEM_LOCATION_TYPE_DEVICE || a->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;

	return a->type == b->type && (!has_id || a->id == b->id);
}

bool sim_pool_location_is_valid(const CUmemLocation *location, CUmemAllocationType type)
{
	if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
		return false;
	switch (location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return sim_device_find(location->id) != NULL;
	case CU_MEM_LOCATION_TYPE_HOST:
		return true;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return location->id >= 0;
	case CU_MEM_LOCATION_TYPE_NONE:
		return type == CU_MEM_ALLOCATION_TYPE_MANAGED;
	default:
		return false;
	}
}

void sim_pool_unset_current(const struct CUmemPoolHandle_st *pool)
{
	if (pool->device && pool->device->current_pool == pool)
		pool->device->current_pool = pool->device->default_pool;
	for (struct location_pools *pools = all_location_pools; pools; pools = pools->next)
		if (pools->current_pool == pool)
			pools->current_pool = pools->default_pool;
}

/* --- pools of a device ------------------------------------------------------------------------ */

static CUresult get_pool(CUmemoryPool *ret_pool, CUdevice ordinal, bool wants_default)
{
	const struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	*ret_pool = wants_default ? device->default_pool : device->current_pool;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	return get_pool(ret_pool, ordinal, true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice ordinal)
{
	return get_pool(ret_pool, ordinal, false);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	bool is_valid = sim_pool_is_live(pool) && pool->device == device && !pool->is_imported;
	if (is_valid)
		device->current_pool = pool;
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/*
 * --- pools of any location and allocation type -------------------------------------------------
 */

/* Returns the pools of a location, or NULL when out of memory. The caller holds the lock. */
static struct location_pools *get_location_pools(const CUmemLocation *location,
	CUmemAllocationType type)
{
	struct location_pools *pools;

	for (pools = all_location_pools; pools; pools = pools->next)
		if (pools->type == type && is_same(&pools->location, location))
			return pools;
	pools = calloc(1, sizeof(*pools));
	if (!pools)
		return NULL;
	pools->location = *location;
	pools->type = type;
	pools->default_pool =
		sim_pool_new(NULL, &(CUmemPoolProps){ .allocType = type, .location = *location });
	if (!pools->default_pool) {
		free(pools);
		return NULL;
	}
	pools->default_pool->is_default = true;
	pools->current_pool = pools->default_pool;
	pools->next = all_location_pools;
	all_location_pools = pools;
	return pools;
}

/* Returns whether the pools are those in struct sim_device, not in all_location_pools. */
static bool is_of_device(const CUmemLocation *location, CUmemAllocationType type)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

static CUresult get_pool_of(CUmemoryPool *ret_pool, const CUmemLocation *location,
	CUmemAllocationType type, bool wants_default)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_pool || !location || !sim_pool_location_is_valid(location, type))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_of_device(location, type))
		return get_pool(ret_pool, location->id, wants_default);
	sim_lock();
	const struct location_pools *pools = get_location_pools(location, type);
	if (pools)
		*ret_pool = wants_default ? pools->default_pool : pools->current_pool;
	sim_unlock();
	return pools ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *ret_pool, CUmemLocation *location,
	CUmemAllocationType type)
{
	return get_pool_of(ret_pool, location, type, true);
}

CUresult cuMemGetMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, CUmemAllocationType type)
{
	return get_pool_of(ret_pool, location, type, false);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!location || !sim_pool_location_is_valid(location, type))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_of_device(location, type))
		return cuDeviceSetMemPool(location->id, pool);

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (sim_pool_is_live(pool) && !pool->is_imported && pool->properties.allocType == type &&
		is_same(&pool->properties.location, location)) {
		struct location_pools *pools = get_location_pools(location, type);
		result = pools ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (pools)
			pools->current_pool = pool;
	}
	sim_unlock();
	return result;
}
