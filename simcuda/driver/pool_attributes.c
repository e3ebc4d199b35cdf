/* SPDX-License-Identifier: MIT */
#include "pool.h"

/* What a pool says of itself, who may reach it, and which pool is a device's. */

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *ret_value)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_capture_check_unsafe_call();
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
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_capture_check_unsafe_call();
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
		/* The high marks can be reset to the present, by writing zero, and to nothing else. */
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

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *descriptors, size_t count)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool fine = sim_pool_is_live(pool) && (descriptors || count == 0);
	sim_unlock();
	return fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *ret_flags, CUmemoryPool pool, CUmemLocation *location)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool live = sim_pool_is_live(pool);
	sim_unlock();
	if (!live)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

/* --- the pools of a device ------------------------------------------------------------------------ */

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
	bool fine = sim_pool_is_live(pool) && pool->device == device;
	if (fine)
		device->current_pool = pool;
	sim_unlock();
	return fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The forms of CUDA 13 name the device by a location; only device memory has pools of its own here. */

static bool is_device(const CUmemLocation *location, CUmemAllocationType type)
{
	return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, CUmemAllocationType type)
{
	return is_device(location, type) ? get_pool(ret_pool, location->id, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, CUmemAllocationType type)
{
	return is_device(location, type) ? get_pool(ret_pool, location->id, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	return is_device(location, type) ? cuDeviceSetMemPool(location->id, pool) : CUDA_ERROR_INVALID_VALUE;
}
