/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include "../driver/accounting.h"

/* The driver's own accounting, with which other tests compare a profiler. */

enum { CAPACITY = 256 };

static struct simcuda_item items[CAPACITY];

static const struct simcuda_item *find(enum simcuda_kind kind, uint64_t address)
{
	size_t count = simcuda_list(items, CAPACITY);

	assert_true(count <= CAPACITY);
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == kind && items[i].address == address)
			return &items[i];
	return NULL;
}

static void check_sum(void)
{
	size_t sum_bytes[2] = { 0, 0 };
	size_t count = simcuda_list(items, CAPACITY);

	for (size_t i = 0; i < count; i++)
		if (items[i].device >= 0)
			sum_bytes[items[i].device] += items[i].charged_bytes;
	assert_int_equal(sum_bytes[0], simcuda_used_bytes(0));
	assert_int_equal(sum_bytes[1], simcuda_used_bytes(1));
}

static void live_memory_is_listed_until_it_is_freed(void **state)
{
	CUdeviceptr device, pooled, address;
	void *pinned;
	CUarray array;
	CUmemGenericAllocationHandle handle;
	CUDA_ARRAY_DESCRIPTOR shape = { 100, 3, CU_AD_FORMAT_FLOAT, 1 };
	CUmemAllocationProp on_device_1 = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	const struct simcuda_item *item;

	assert_success(cuMemAlloc_v2(&device, 1000));
	assert_success(cuMemAllocAsync(&pooled, 2000, NULL));
	assert_success(cuMemHostAlloc(&pinned, 3000, 0));
	assert_success(cuArrayCreate_v2(&array, &shape));
	assert_success(cuMemCreate(&handle, 2 * MIB, &on_device_1, 0));
	assert_success(cuMemAddressReserve(&address, 4 * MIB, 0, 0, 0));
	assert_success(cuMemMap(address, 2 * MIB, 0, handle, 0));

	item = find(SIMCUDA_KIND_DEVICE, device);
	assert_non_null(item);
	assert_int_equal(item->size_bytes, 1000);
	assert_int_equal(item->charged_bytes, 1024);
	assert_int_equal(item->device, 0);
	assert_int_equal(item->context, (uintptr_t)*state);
	item = find(SIMCUDA_KIND_POOL_BLOCK, pooled);
	assert_non_null(item);
	assert_int_equal(item->charged_bytes, 0);
	item = find(SIMCUDA_KIND_POOL, item->object);
	assert_non_null(item);
	assert_int_equal(item->charged_bytes, 2 * MIB);
	item = find(SIMCUDA_KIND_PINNED, (uintptr_t)pinned);
	assert_non_null(item);
	assert_int_equal(item->device, -1);
	item = find(SIMCUDA_KIND_ARRAY, (uintptr_t)array);
	assert_non_null(item);
	assert_int_equal(item->size_bytes, 1200);
	item = find(SIMCUDA_KIND_PHYSICAL, handle);
	assert_non_null(item);
	assert_int_equal(item->device, 1);
	assert_int_equal(item->references, 1);
	assert_int_equal(item->mappings, 1);
	item = find(SIMCUDA_KIND_MAPPING, address);
	assert_non_null(item);
	assert_int_equal(item->object, handle);
	assert_non_null(find(SIMCUDA_KIND_RESERVATION, address));
	check_sum();

	assert_success(cuMemRelease(handle));
	assert_int_equal(find(SIMCUDA_KIND_PHYSICAL, handle)->references, 0);
	assert_success(cuMemUnmap(address, 2 * MIB));
	assert_null(find(SIMCUDA_KIND_PHYSICAL, handle));
	assert_null(find(SIMCUDA_KIND_MAPPING, address));
	assert_success(cuMemAddressFree(address, 4 * MIB));
	assert_success(cuArrayDestroy(array));
	assert_success(cuMemFreeHost(pinned));
	assert_success(cuMemFree_v2(pooled));
	assert_success(cuMemFree_v2(device));
	assert_null(find(SIMCUDA_KIND_DEVICE, device));
	assert_null(find(SIMCUDA_KIND_ARRAY, (uintptr_t)array));
	check_sum();
}

static void a_list_that_is_too_short_returns_the_full_count(void **state)
{
	CUdeviceptr first, second;

	(void)state;
	assert_success(cuMemAlloc_v2(&first, 1));
	size_t count = simcuda_list(NULL, 0);
	assert_success(cuMemAlloc_v2(&second, 1));
	assert_int_equal(simcuda_list(items, 1), count + 1);
	assert_success(cuMemFree_v2(first));
	assert_success(cuMemFree_v2(second));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(live_memory_is_listed_until_it_is_freed),
		CONTEXT_TEST(a_list_that_is_too_short_returns_the_full_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
