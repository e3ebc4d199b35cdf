/* SPDX-License-Identifier: MIT */
#include "testing.h"

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
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold_bytes));
	assert_success(cuMemAllocAsync(&address, 10 * MIB, NULL));
	assert_success(cuMemFreeAsync(address, NULL));
	assert_success(cuCtxSynchronize());
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 6 * MIB);
	assert_success(cuMemPoolTrimTo(pool, 2 * MIB));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * MIB);
	assert_success(cuMemPoolTrimTo(pool, 0));
	threshold_bytes = 0;
	assert_success(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold_bytes));
	assert_int_equal(used_bytes(), 0);
}

static void high_marks_stay_until_they_are_reset(void **state)
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

static void a_destroyed_pool_gives_its_memory_back_when_the_last_block_goes(void **state)
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
	assert_int_equal(cuMemAllocFromPoolAsync(&none, 2 * MIB, small, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocAsync(&none, CAPACITY_BYTES, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemFreeAsync(address, NULL));
	assert_success(cuMemPoolDestroy(small));
	/* Alone on the device again, all of it can be had. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(freed_memory_stays_reserved_until_a_synchronization),
		CONTEXT_TEST(the_release_threshold_keeps_memory_and_a_trim_takes_it),
		CONTEXT_TEST(high_marks_stay_until_they_are_reset),
		CONTEXT_TEST(a_destroyed_pool_gives_its_memory_back_when_the_last_block_goes),
		CONTEXT_TEST(a_pool_ends_at_its_own_maximum_and_at_the_devices_capacity),
		CONTEXT_TEST(the_current_pool_of_a_device_is_where_plain_calls_allocate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
