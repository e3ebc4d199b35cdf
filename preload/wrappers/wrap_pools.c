/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that create, return and destroy memory pools. Only these calls have a pool's device.
 */
#include "wrappers/wrapper.h"

/* Adds a new pool, and records its event. */
static void add_pool(const struct gmt_call *call, CUresult result, CUmemoryPool *pool,
	int device_plus_1, enum gmt_pool_origin origin, bool is_managed)
{
	struct gmt_pool_info info = {
		.handle = result ? 0 : U64(*pool),
		.origin = (uint8_t)origin,
		.is_managed = is_managed,
		.device = (int16_t)(device_plus_1                   ? device_plus_1 - 1
				: origin == GMT_POOL_IMPORTED || is_managed ? GMT_DEVICE_UNKNOWN
															: GMT_DEVICE_HOST),
	};

	if (!result)
		gmt_known_pools_add(&info);
	if (gmt_call_is_event(call))
		gmt_call_add(call, (uint32_t)result,
			&(struct gmt_call_details){ .kind = GMT_KIND_CREATE,
				.space = GMT_SPACE_POOL,
				.address = info.handle,
				.device_plus_1 = device_plus_1,
				.object = origin == GMT_POOL_IMPORTED });
}

BEGIN_WRAPPER(CUDA, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *properties))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuMemPoolCreate, GMT_CALL_DRIVER, GMT_KIND_CREATE);
CUresult result = original(pool, properties);

add_pool(&call, result, pool, result ? 0 : gmt_location_device_plus_1(&properties->location),
	GMT_POOL_MADE, !result && properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED);
gmt_call_end(&call);
return result;
}

BEGIN_WRAPPER(CUDA, cuMemPoolImportFromShareableHandle,
	(CUmemoryPool * pool, void *handle, CUmemAllocationHandleType type, unsigned long long flags))
struct gmt_call call =
	gmt_call_begin(GMT_HOOK_cuMemPoolImportFromShareableHandle, GMT_CALL_DRIVER, GMT_KIND_CREATE);
CUresult result = original(pool, handle, type, flags);

add_pool(&call, result, pool, 0, GMT_POOL_IMPORTED, false);
gmt_call_end(&call);
return result;
}

/*
 * Calls that return a default pool. The recorder already knows the devices' default pools. It
 * learns those of the host and of managed memory only here.
 */
#define GET_POOL(symbol) \
	BEGIN_WRAPPER(CUDA, symbol, \
		(CUmemoryPool * pool, CUmemLocation * location, CUmemAllocationType type)) \
	CUresult result = original(pool, location, type); \
	gmt_call_counts_add_shared(GMT_HOOK_##symbol); \
	if (!result) \
		add_default_pool(*pool, location, type); \
	return result; \
	}

/* Adds a default pool, unless it is a device's. */
static void add_default_pool(CUmemoryPool pool, const CUmemLocation *location,
	CUmemAllocationType type)
{
	int device_plus_1 = gmt_location_device_plus_1(location);
	bool is_managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;

	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE && !is_managed)
		return;
	gmt_known_pools_add(&(struct gmt_pool_info){
		.handle = U64(pool),
		.origin = GMT_POOL_DEFAULT,
		.is_managed = is_managed,
		.device = (int16_t)(device_plus_1 ? device_plus_1 - 1
				: is_managed              ? GMT_DEVICE_UNKNOWN
										  : GMT_DEVICE_HOST),
	});
}

GET_POOL(cuMemGetDefaultMemPool)
GET_POOL(cuMemGetMemPool)

BEGIN_WRAPPER(CUDA, cuMemPoolDestroy, (CUmemoryPool pool))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuMemPoolDestroy, GMT_CALL_DRIVER, GMT_KIND_DESTROY);
int device_plus_1 = gmt_known_pools_device_plus_1(U64(pool));
struct gmt_pool_info info;
bool was_known = gmt_known_pools_remove(U64(pool), &info);

CUresult result = original(pool);
if (result && was_known)
	gmt_known_pools_add(&info);
if (gmt_call_is_event(&call))
	gmt_call_add(&call, (uint32_t)result,
		&(struct gmt_call_details){ .kind = GMT_KIND_DESTROY,
			.space = GMT_SPACE_POOL,
			.address = U64(pool),
			.device_plus_1 = device_plus_1 });
gmt_call_end(&call);
return result;
}
