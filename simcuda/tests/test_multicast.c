/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <unistd.h>

enum { UNIT = 2 << 20 };

static CUmemAllocationProp on_device(int ordinal)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal },
	};
}

static CUmemGenericAllocationHandle memory_of(int ordinal, size_t size_bytes)
{
	CUmemAllocationProp properties = on_device(ordinal);
	CUmemGenericAllocationHandle handle;

	assert_success(cuMemCreate(&handle, size_bytes, &properties, 0));
	return handle;
}

/* Makes a multicast object for both devices. */
static CUmemGenericAllocationHandle make_multicast(size_t size_bytes)
{
	CUmulticastObjectProp properties = { .numDevices = 2, .size = size_bytes };
	CUmemGenericAllocationHandle handle;

	assert_success(cuMulticastCreate(&handle, &properties));
	assert_success(cuMulticastAddDevice(handle, 0));
	assert_success(cuMulticastAddDevice(handle, 1));
	return handle;
}

static void a_multicast_object_keeps_bound_memory_alive(void **state)
{
	CUmemGenericAllocationHandle multicast = make_multicast(2 * UNIT);
	CUmemGenericAllocationHandle memory = memory_of(0, UNIT);

	(void)state;
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMulticastBindMem(multicast, UNIT, memory, 0, UNIT, 0));
	assert_success(cuMemRelease(memory));
	assert_int_equal(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), UNIT);
	assert_int_equal(cuMulticastUnbind(multicast, 0, 0, UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMulticastUnbind(multicast, 1, UNIT, UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMulticastUnbind(multicast, 0, UNIT, UNIT));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemRelease(multicast));
}

static void a_destroyed_object_releases_bound_memory(void **state)
{
	CUmemGenericAllocationHandle multicast = make_multicast(UNIT);
	CUmemGenericAllocationHandle memory = memory_of(0, UNIT);
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemAddressReserve(&address, UNIT, 0, 0, 0));
	assert_success(cuMemMap(address, UNIT, 0, multicast, 0));
	assert_success(cuMulticastBindMem(multicast, 0, memory, 0, UNIT, 0));
	assert_success(cuMemRelease(memory));
	assert_success(cuMemRelease(multicast));
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMemUnmap(address, UNIT));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemAddressFree(address, UNIT));
}

static void each_device_binds_its_own_memory_once(void **state)
{
	CUmemGenericAllocationHandle multicast = make_multicast(2 * UNIT);
	CUmemGenericAllocationHandle first = memory_of(0, 2 * UNIT), second = memory_of(1, 2 * UNIT);

	(void)state;
	assert_success(cuMulticastBindMem(multicast, 0, first, UNIT, UNIT, 0));
	assert_int_equal(cuMulticastBindMem(multicast, 0, first, 0, UNIT, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMulticastBindMem_v2(multicast, 1, 0, second, 0, 2 * UNIT, 0));
	assert_int_equal(cuMulticastBindMem(multicast, UNIT, first, UNIT, 2 * UNIT, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMulticastBindMem(multicast, 2 * UNIT, first, 0, UNIT, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMulticastBindMem(multicast, UNIT, multicast, 0, UNIT, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMulticastBindMem(first, 0, second, 0, UNIT, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMulticastUnbind(multicast, 1, 0, 2 * UNIT));
	assert_success(cuMemRelease(multicast));
	assert_success(cuMemRelease(first));
	assert_success(cuMemRelease(second));
	assert_int_equal(used_bytes(), 0);
}

static void devices_are_added_before_memory_is_bound(void **state)
{
	CUmulticastObjectProp properties = { .numDevices = 2, .size = UNIT };
	CUmemGenericAllocationHandle multicast, memory = memory_of(0, UNIT);

	(void)state;
	assert_success(cuMulticastCreate(&multicast, &properties));
	assert_success(cuMulticastAddDevice(multicast, 0));
	assert_int_equal(cuMulticastAddDevice(multicast, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMulticastAddDevice(multicast, 7), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuMulticastBindMem(multicast, 0, memory, 0, UNIT, 0),
		CUDA_ERROR_ILLEGAL_STATE);
	assert_success(cuMulticastAddDevice(multicast, 1));
	assert_success(cuMulticastBindMem(multicast, 0, memory, 0, UNIT, 0));
	assert_success(cuMemRelease(multicast));
	assert_success(cuMemRelease(memory));
	properties.size = UNIT + 1;
	assert_int_equal(cuMulticastCreate(&multicast, &properties), CUDA_ERROR_INVALID_VALUE);
}

static void memory_is_bound_by_its_address_too(void **state)
{
	CUmemGenericAllocationHandle multicast = make_multicast(2 * UNIT);
	CUmemGenericAllocationHandle memory = memory_of(0, UNIT);
	CUdeviceptr address, pooled;

	(void)state;
	assert_success(cuMemAddressReserve(&address, UNIT, 0, 0, 0));
	assert_success(cuMemMap(address, UNIT, 0, memory, 0));
	assert_success(cuMemRelease(memory));
	assert_success(cuMulticastBindAddr(multicast, 0, address, UNIT, 0));
	assert_success(cuMemUnmap(address, UNIT));
	assert_int_equal(used_bytes(), UNIT);
	assert_int_equal(cuMulticastBindAddr_v2(multicast, 0, UNIT, address, UNIT, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMulticastUnbind(multicast, 0, 0, UNIT));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemAllocAsync(&pooled, UNIT, NULL));
	assert_success(cuMulticastBindAddr(multicast, 0, pooled, UNIT, 0));
	assert_success(cuMulticastUnbind(multicast, 0, 0, UNIT));
	assert_success(cuMemFree_v2(pooled));
	assert_success(cuMemRelease(multicast));
	assert_success(cuMemAddressFree(address, UNIT));
}

static void an_exported_object_is_imported_as_the_same_object(void **state)
{
	CUmulticastObjectProp properties = {
		.numDevices = 2, .size = UNIT, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	};
	CUmemGenericAllocationHandle multicast, again;
	int file;

	(void)state;
	assert_success(cuMulticastCreate(&multicast, &properties));
	assert_success(cuMemExportToShareableHandle(&file, multicast,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	assert_success(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(file);
	assert_success(cuMemRelease(multicast));
	assert_success(cuMulticastAddDevice(again, 1));
	assert_success(cuMemRelease(again));
	assert_int_equal(cuMulticastAddDevice(again, 0), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(a_multicast_object_keeps_bound_memory_alive),
		CONTEXT_TEST(a_destroyed_object_releases_bound_memory),
		CONTEXT_TEST(each_device_binds_its_own_memory_once),
		CONTEXT_TEST(devices_are_added_before_memory_is_bound),
		CONTEXT_TEST(memory_is_bound_by_its_address_too),
		CONTEXT_TEST(an_exported_object_is_imported_as_the_same_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
