/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <unistd.h>

static CUmemoryPool default_pool(void)
{
	CUmemoryPool pool;

	assert_success(cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = 0;

	assert_success(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void freed_memory_stays_reserved_until_a_synchronization(void **state)
{
	CUmemoryPool pool = default_pool();
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemAllocAsync(&address, 3 * MIB, NULL));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 3 * MIB);
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * MIB);
	assert_int_equal(used_bytes(), 4 * MIB);

	assert_success(cuMemFreeAsync(address, NULL));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * MIB);
	assert_success(cuStreamSynchronize(NULL));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_int_equal(used_bytes(), 0);
}

static void the_release_threshold_keeps_memory_and_a_trim_takes_it(void **state)
{
	CUmemoryPool pool = default_pool();
	cuuint64_t threshold_bytes = 6 * MIB;
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
		&threshold_bytes));
	assert_success(cuMemAllocAsync(&address, 10 * MIB, NULL));
	assert_success(cuMemFreeAsync(address, NULL));
	assert_success(cuCtxSynchronize());
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 6 * MIB);
	assert_success(cuMemPoolTrimTo(pool, 2 * MIB));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * MIB);
	assert_success(cuMemPoolTrimTo(pool, 0));
	threshold_bytes = 0;
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
		&threshold_bytes));
	assert_int_equal(used_bytes(), 0);
}

static void high_water_marks_stay_until_they_are_reset(void **state)
{
	CUmemoryPool pool = default_pool();
	CUdeviceptr address;
	cuuint64_t zero = 0, one = 1;

	(void)state;
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	assert_success(cuMemAllocAsync(&address, MIB, NULL));
	assert_success(cuMemFree_v2(address));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), MIB);
	assert_int_equal(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
}

static CUmemoryPool create_pool(size_t maximum_bytes)
{
	CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
		.maxSize = maximum_bytes,
	};
	CUmemoryPool pool;

	assert_success(cuMemPoolCreate(&pool, &properties));
	return pool;
}

static void a_destroyed_pool_frees_its_memory_with_the_last_block(void **state)
{
	CUmemoryPool pool = create_pool(0);
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemAllocFromPoolAsync(&address, MIB, pool, NULL));
	assert_success(cuMemPoolDestroy(pool));
	assert_int_equal(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), 2 * MIB);
	assert_success(cuMemFreeAsync(address, NULL));
	assert_int_equal(used_bytes(), 0);
	assert_int_equal(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
}

static void a_pool_ends_at_its_own_maximum_and_at_the_devices_capacity(void **state)
{
	CUmemoryPool small = create_pool(4 * MIB);
	CUdeviceptr address, none;

	(void)state;
	assert_success(cuMemAllocFromPoolAsync(&address, 3 * MIB, small, NULL));
	assert_int_equal(cuMemAllocFromPoolAsync(&none, 2 * MIB, small, NULL),
		CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocAsync(&none, CAPACITY_BYTES, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemFreeAsync(address, NULL));
	assert_success(cuMemPoolDestroy(small));
	/* This pool now has the device for itself, so it can use the whole capacity. */
	assert_success(cuMemAllocAsync(&address, CAPACITY_BYTES, NULL));
	assert_success(cuMemFree_v2(address));
}

static void the_current_pool_of_a_device_is_where_plain_calls_allocate(void **state)
{
	CUmemoryPool own = create_pool(0), current;
	CUdeviceptr address;

	(void)state;
	assert_success(cuDeviceSetMemPool(0, own));
	assert_success(cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, own);
	assert_success(cuMemAllocAsync_ptsz(&address, MIB, NULL));
	assert_int_equal(attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
	assert_success(cuMemFreeAsync_ptsz(address, NULL));
	assert_success(cuMemPoolDestroy(own));
	assert_success(cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, default_pool());
}

static CUmemoryPool make_pool(CUmemLocationType location, int id, CUmemAllocationType type,
	CUmemAllocationHandleType handles)
{
	CUmemPoolProps properties = {
		.allocType = type, .handleTypes = handles, .location = { .type = location, .id = id }
	};
	CUmemoryPool pool;

	assert_success(cuMemPoolCreate(&pool, &properties));
	return pool;
}

static void a_destroyed_pool_ends_with_its_last_block(void **state)
{
	CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_PINNED, 0);
	CUmemoryPool current;
	CUdeviceptr first, second, third;
	cuuint64_t bytes;

	(void)state;
	assert_success(cuMemAllocFromPoolAsync(&first, 3 * MIB, pool, NULL));
	assert_success(cuMemAllocFromPoolAsync(&second, MIB, pool, NULL));
	assert_int_equal(used_bytes(), 4 * MIB);
	assert_success(cuDeviceSetMemPool(0, pool));
	assert_success(cuMemPoolDestroy(pool));
	/*
	 * The destroyed pool is no longer valid, and no device uses it as its current pool. Its blocks
	 * stay valid.
	 */
	assert_success(cuDeviceGetMemPool(&current, 0));
	assert_ptr_not_equal(current, pool);
	assert_int_equal(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAllocFromPoolAsync(&third, 1, pool, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemsetD8_v2(first, 1, 3 * MIB));
	assert_success(cuMemFreeAsync(first, NULL));
	assert_success(cuMemFreeAsync(second, NULL));
	assert_int_equal(used_bytes(), 0);
}

static void host_and_managed_pools_cost_the_device_nothing(void **state)
{
	CUmemoryPool on_host =
		make_pool(CU_MEM_LOCATION_TYPE_HOST, 77, CU_MEM_ALLOCATION_TYPE_PINNED, 0);
	CUmemoryPool managed =
		make_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_MANAGED, 0);
	CUdeviceptr of_host, of_managed;
	unsigned int is_managed;
	cuuint64_t bytes;

	(void)state;
	assert_success(cuMemAllocFromPoolAsync(&of_host, 3 * MIB, on_host, NULL));
	assert_success(cuMemAllocFromPoolAsync(&of_managed, 3 * MIB, managed, NULL));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemPoolGetAttribute(on_host, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
	assert_int_equal(bytes, 4 * MIB);
	assert_success(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, of_managed));
	assert_int_equal(is_managed, 1);
	assert_success(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, of_host));
	assert_int_equal(is_managed, 0);
	assert_success(cuMemFreeAsync(of_host, NULL));
	assert_success(cuMemFree_v2(of_managed));
	assert_success(cuMemPoolDestroy(on_host));
	assert_success(cuMemPoolDestroy(managed));
}

static void impossible_pools_are_refused(void **state)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT } };
	CUmemoryPool pool;

	(void)state;
	assert_int_equal(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
	properties.location.type = CU_MEM_LOCATION_TYPE_NONE;
	assert_int_equal(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
	properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
	properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_int_equal(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	properties.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	assert_int_equal(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_NOT_SUPPORTED);
	properties.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
	assert_int_equal(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
}

static void each_place_has_a_default_and_a_current_pool(void **state)
{
	CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST },
				  device = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	CUmemLocation nowhere = { .type = CU_MEM_LOCATION_TYPE_NONE };
	CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_HOST, 0, CU_MEM_ALLOCATION_TYPE_PINNED, 0);
	CUmemoryPool found, of_device, managed;

	(void)state;
	assert_success(cuMemGetDefaultMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
	assert_ptr_not_equal(found, pool);
	assert_int_equal(cuMemPoolDestroy(found), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemSetMemPool(&host, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
	assert_success(cuMemGetMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
	assert_ptr_equal(found, pool);
	assert_int_equal(cuMemSetMemPool(&host, CU_MEM_ALLOCATION_TYPE_MANAGED, pool),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, pool),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemPoolDestroy(pool));
	assert_success(cuMemGetMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
	assert_ptr_not_equal(found, pool);
	assert_success(cuMemGetMemPool(&found, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
	assert_success(cuDeviceGetDefaultMemPool(&of_device, 1));
	assert_ptr_equal(found, of_device);
	assert_success(cuMemGetMemPool(&managed, &nowhere, CU_MEM_ALLOCATION_TYPE_MANAGED));
	assert_int_equal(cuMemGetMemPool(&found, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED),
		CUDA_ERROR_INVALID_VALUE);
}

static void a_pool_grows_to_its_maximum(void **state)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.maxSize = 4 * MIB };
	CUmemoryPool pool;
	CUdeviceptr block, more;

	(void)state;
	assert_success(cuMemPoolCreate(&pool, &properties));
	assert_success(cuMemAllocFromPoolAsync(&block, 3 * MIB, pool, NULL));
	assert_int_equal(cuMemAllocFromPoolAsync(&more, MIB + 1, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemAllocFromPoolAsync(&more, MIB, pool, NULL));
	assert_success(cuMemFreeAsync(block, NULL));
	assert_success(cuMemFreeAsync(more, NULL));
	assert_success(cuMemPoolDestroy(pool));
	assert_int_equal(used_bytes(), 0);
}

static void an_imported_pool_imports_blocks_and_allocates_none(void **state)
{
	CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_PINNED,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	CUmemoryPool private =
		make_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_PINNED, 0);
	CUmemoryPool imported;
	CUmemPoolPtrExportData data;
	CUdeviceptr block, again, third, other;
	int file;

	(void)state;
	assert_int_equal(cuMemPoolExportToShareableHandle(&file, private,
						 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemPoolExportToShareableHandle(&file, pool,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	assert_success(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	assert_success(cuMemAllocFromPoolAsync(&block, 3 * MIB, pool, NULL));
	assert_success(cuMemAllocFromPoolAsync(&other, MIB, private, NULL));
	assert_int_equal(cuMemPoolExportPointer(&data, other), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemPoolExportPointer(&data, block));
	assert_int_equal(cuMemPoolImportPointer(&again, pool, &data), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), 6 * MIB);
	assert_success(cuMemPoolImportPointer(&again, imported, &data));
	assert_success(cuMemPoolImportPointer(&third, imported, &data));
	assert_int_equal(used_bytes(), 6 * MIB);
	size_t size_bytes;
	assert_success(cuMemGetAddressRange_v2(NULL, &size_bytes, again));
	assert_int_equal(size_bytes, 3 * MIB);
	assert_int_equal(cuMemAllocFromPoolAsync(&third, 1, imported, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceSetMemPool(0, imported), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFreeAsync(again, NULL));
	assert_success(cuMemPoolDestroy(imported));
	assert_success(cuMemFree_v2(third));
	assert_int_equal(cuMemFree_v2(third), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFreeAsync(block, NULL));
	assert_success(cuMemFreeAsync(other, NULL));
	assert_success(cuMemPoolDestroy(pool));
	assert_success(cuMemPoolDestroy(private));
	assert_int_equal(used_bytes(), 0);
	assert_int_equal(close(file), 0);
}

static void only_the_device_of_a_pool_and_granted_devices_have_access(void **state)
{
	CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_PINNED, 0);
	CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAccess_flags flags;

	(void)state;
	assert_success(cuMemPoolGetAccess(&flags, pool, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_success(cuMemPoolSetAccess(pool, &access, 1));
	assert_success(cuMemPoolGetAccess(&flags, pool, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	access.location.id = 0;
	assert_success(cuMemPoolGetAccess(&flags, pool, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	assert_int_equal(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemPoolDestroy(pool));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(freed_memory_stays_reserved_until_a_synchronization),
		CONTEXT_TEST(the_release_threshold_keeps_memory_and_a_trim_takes_it),
		CONTEXT_TEST(high_water_marks_stay_until_they_are_reset),
		CONTEXT_TEST(a_destroyed_pool_frees_its_memory_with_the_last_block),
		CONTEXT_TEST(a_pool_ends_at_its_own_maximum_and_at_the_devices_capacity),
		CONTEXT_TEST(the_current_pool_of_a_device_is_where_plain_calls_allocate),
		CONTEXT_TEST(a_destroyed_pool_ends_with_its_last_block),
		CONTEXT_TEST(host_and_managed_pools_cost_the_device_nothing),
		CONTEXT_TEST(impossible_pools_are_refused),
		CONTEXT_TEST(each_place_has_a_default_and_a_current_pool),
		CONTEXT_TEST(a_pool_grows_to_its_maximum),
		CONTEXT_TEST(an_imported_pool_imports_blocks_and_allocates_none),
		CONTEXT_TEST(only_the_device_of_a_pool_and_granted_devices_have_access),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
