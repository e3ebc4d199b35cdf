/* SPDX-License-Identifier: MIT */
#include "pool.h"

/* Attributes of pools, and access to pools. */

/* Checks a call that reads or writes an attribute through `value`. */
static CUresult check_call(const void *value)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	return value ? sim_capture_check_unsafe_call() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *ret_value)
{
	CUresult result = check_call(ret_value);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	cuuint64_t *bytes = ret_value;
	if (!sim_pool_is_live(pool)) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		switch (attribute) {
		case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
			*(int *)ret_value =
				pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
			break;
		case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
			*bytes = pool->release_threshold_bytes;
			break;
		case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
			*bytes = pool->reserved_bytes;
			break;
		case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
			*bytes = pool->reserved_high_bytes;
			break;
		case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
			*bytes = pool->used_bytes;
			break;
		case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
			*bytes = pool->used_high_bytes;
			break;
		default:
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = check_call(value);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	const cuuint64_t *bytes = value;
	if (!sim_pool_is_live(pool)) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		switch (attribute) {
		case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
			pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
				*(const int *)value;
			break;
		case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
			pool->release_threshold_bytes = *bytes;
			break;
		/* The high-water marks can only be reset to the current value, by writing zero. */
		case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
			if (*bytes == 0)
				pool->reserved_high_bytes = pool->reserved_bytes;
			else
				result = CUDA_ERROR_INVALID_VALUE;
			break;
		case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
			if (*bytes == 0)
				pool->used_high_bytes = pool->used_bytes;
			else
				result = CUDA_ERROR_INVALID_VALUE;
			break;
		default:
			result = CUDA_ERROR_INVALID_VALUE;
		}
	}
	sim_unlock();
	return result;
}

/* --- access to pools -------------------------------------------------------------------------- */

/* Returns the index of a location in a pool's access table, or -1. */
static int access_index(const CUmemLocation *location)
{
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		return sim_device_find(location->id) ? location->id : -1;
	return location->type >= CU_MEM_LOCATION_TYPE_HOST &&
			location->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
		? SIM_MAX_DEVICES
		: -1;
}

static bool is_valid(const struct CUmemPoolHandle_st *pool, const CUmemAccessDesc *descriptor)
{
	if (access_index(&descriptor->location) < 0)
		return false;
	/* The device that has the pool's memory can always access it. This right cannot be removed. */
	bool is_own = pool->device && descriptor->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		descriptor->location.id == pool->device->ordinal;
	return descriptor->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
		(!is_own &&
			(descriptor->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
				descriptor->flags == CU_MEM_ACCESS_FLAGS_PROT_READ));
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *descriptors, size_t count)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool are_valid = sim_pool_is_live(pool) && (descriptors || count == 0);
	for (size_t i = 0; i < count && are_valid; i++)
		are_valid = is_valid(pool, &descriptors[i]);
	for (size_t i = 0; i < count && are_valid; i++)
		pool->access[access_index(&descriptors[i].location)] = (unsigned char)descriptors[i].flags;
	sim_unlock();
	return are_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *ret_flags, CUmemoryPool pool,
	CUmemLocation *location)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_flags || !location || access_index(location) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool live = sim_pool_is_live(pool);
	if (live)
		*ret_flags = (CUmemAccess_flags)pool->access[access_index(location)];
	sim_unlock();
	return live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
