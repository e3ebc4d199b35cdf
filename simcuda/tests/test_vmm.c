/* SPDX-License-Identifier: MIT */
#include "testing.h"

enum { UNIT = 2 << 20 };

static const CUmemAllocationProp on_device_0 = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static void allow_access(CUdeviceptr address, size_t size_bytes)
{
	CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};

	assert_success(cuMemSetAccess(address, size_bytes, &access, 1));
}

static void addresses_cost_nothing_and_handles_cost_their_size(void **state)
{
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_success(cuMemAddressReserve(&address, CAPACITY_BYTES * 4, 0, 0, 0));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemCreate(&handle, 3 * UNIT, &on_device_0, 0));
	assert_int_equal(used_bytes(), 3 * UNIT);
	assert_success(cuMemRelease(handle));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemAddressFree(address, CAPACITY_BYTES * 4));
}

static void physical_memory_is_live_while_it_has_a_handle_or_a_mapping(void **state)
{
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle, again;

	(void)state;
	assert_success(cuMemAddressReserve(&address, 2 * UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, UNIT, &on_device_0, 0));
	assert_success(cuMemMap(address, UNIT, 0, handle, 0));
	assert_success(cuMemRelease(handle));
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMemRetainAllocationHandle(&again, (void *)address));
	assert_int_equal(again, handle);
	assert_success(cuMemUnmap(address, UNIT));
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMemRelease(again));
	assert_int_equal(used_bytes(), 0);
	assert_int_equal(cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemAddressFree(address, 2 * UNIT));
}

static void two_mappings_of_a_handle_show_the_same_bytes(void **state)
{
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;
	char read_back[6] = "";

	(void)state;
	assert_success(cuMemAddressReserve(&address, 2 * UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, UNIT, &on_device_0, 0));
	assert_success(cuMemMap(address, UNIT, 0, handle, 0));
	assert_success(cuMemMap(address + UNIT, UNIT, 0, handle, 0));
	allow_access(address, 2 * UNIT);
	assert_success(cuMemcpyHtoD_v2(address + 10, "hello", 6));
	assert_success(cuMemcpyDtoH_v2(read_back, address + UNIT + 10, 6));
	assert_string_equal(read_back, "hello");
	/* Two adjacent mappings are one range for the fill. */
	assert_success(cuMemsetD8_v2(address, 1, 2 * UNIT));
	assert_success(cuMemUnmap(address, 2 * UNIT));
	assert_success(cuMemRelease(handle));
	assert_success(cuMemAddressFree(address, 2 * UNIT));
}

static void a_mapping_needs_reserved_and_free_addresses(void **state)
{
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_success(cuMemAddressReserve(&address, 2 * UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, 2 * UNIT, &on_device_0, 0));
	assert_int_equal(cuMemMap(address + UNIT, 2 * UNIT, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemMap(address + 4096, UNIT, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemMap(address, 2 * UNIT, 0, handle, 0));
	assert_int_equal(cuMemMap(address, UNIT, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(address, UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAddressFree(address, 2 * UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemUnmap(address, 2 * UNIT));
	assert_int_equal(cuMemUnmap(address, 2 * UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemRelease(handle));
	assert_success(cuMemAddressFree(address, 2 * UNIT));
}

static void sizes_are_whole_units_and_end_at_the_capacity(void **state)
{
	CUmemGenericAllocationHandle handle, none;
	size_t granularity_bytes;

	(void)state;
	assert_success(cuMemGetAllocationGranularity(&granularity_bytes, &on_device_0,
		CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(granularity_bytes, UNIT);
	assert_int_equal(cuMemCreate(&none, UNIT + 1, &on_device_0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemCreate(&handle, CAPACITY_BYTES, &on_device_0, 0));
	assert_int_equal(cuMemCreate(&none, UNIT, &on_device_0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemRelease(handle));
}

static void host_memory_belongs_to_no_device(void **state)
{
	/* The id of a host location must not be taken for a device. */
	CUmemAllocationProp on_host = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_HOST, .id = 12345 },
	};
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_success(cuMemCreate(&handle, UNIT, &on_host, 0));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemRelease(handle));
}

static void invalid_properties_are_refused(void **state)
{
	CUmemAllocationProp properties = on_device_0;
	CUmemGenericAllocationHandle handle;

	(void)state;
	properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT };
	assert_int_equal(cuMemCreate(&handle, UNIT, &properties, 0), CUDA_ERROR_INVALID_VALUE);
	properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_INVALID };
	assert_int_equal(cuMemCreate(&handle, UNIT, &properties, 0), CUDA_ERROR_INVALID_VALUE);
	properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2 };
	assert_int_equal(cuMemCreate(&handle, UNIT, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
	properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_int_equal(cuMemCreate(&handle, UNIT, &properties, 0), CUDA_ERROR_INVALID_VALUE);
	properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
	assert_success(cuMemCreate(&handle, UNIT, &properties, 0));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemRelease(handle));
	/* This is more memory than exists, on the host too. */
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	assert_int_equal(cuMemCreate(&handle, SIZE_MAX - UNIT + 1, &properties, 0),
		CUDA_ERROR_OUT_OF_MEMORY);
}

static void access_is_remembered_for_each_device(void **state)
{
	CUmemAccessDesc access[2] = {
		{ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
			.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
		{ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
			.flags = CU_MEM_ACCESS_FLAGS_PROT_READ },
	};
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;
	unsigned long long flags;

	(void)state;
	assert_success(cuMemAddressReserve(&address, UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, UNIT, &on_device_0, 0));
	assert_int_equal(cuMemSetAccess(address, UNIT, access, 2), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemMap(address, UNIT, 0, handle, 0));
	assert_success(cuMemGetAccess(&flags, &access[0].location, address));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_success(cuMemSetAccess(address, UNIT, access, 2));
	assert_success(cuMemGetAccess(&flags, &access[0].location, address));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_success(cuMemGetAccess(&flags, &access[1].location, address + 100));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	access[0].location.id = 2;
	assert_int_equal(cuMemSetAccess(address, UNIT, access, 1), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemUnmap(address, UNIT));
	assert_success(cuMemRelease(handle));
	assert_success(cuMemAddressFree(address, UNIT));
}

static void memory_is_mapped_from_its_start(void **state)
{
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_success(cuMemAddressReserve(&address, 2 * UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, 2 * UNIT, &on_device_0, 0));
	assert_int_equal(cuMemMap(address, UNIT, UNIT, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemMap(address, UNIT, 0, handle, 0));
	assert_success(cuMemUnmap(address, UNIT));
	assert_success(cuMemRelease(handle));
	assert_int_equal(cuMemMap(address, UNIT, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemAddressFree(address, 2 * UNIT));
}

static void pointers_have_the_attributes_of_their_physical_memory(void **state)
{
	CUmemAllocationProp properties = on_device_0;
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;
	CUmemorytype type;
	unsigned int types;
	unsigned long long first, second;

	(void)state;
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_success(cuMemAddressReserve(&address, 3 * UNIT, 0, 0, 0));
	assert_success(cuMemCreate(&handle, UNIT, &properties, 0));
	assert_success(cuMemMap(address, UNIT, 0, handle, 0));
	assert_success(cuMemMap(address + UNIT, UNIT, 0, handle, 0));
	assert_success(cuMemRelease(handle));
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
	assert_success(cuMemCreate(&handle, UNIT, &properties, 0));
	assert_success(cuMemMap(address + 2 * UNIT, UNIT, 0, handle, 0));
	assert_success(cuMemRelease(handle));
	assert_success(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
		address));
	assert_int_equal(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	assert_success(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
	assert_success(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, address + UNIT));
	assert_int_equal(first, second);
	assert_success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		address + 2 * UNIT));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	assert_success(cuMemUnmap(address, 3 * UNIT));
	assert_success(cuMemAddressFree(address, 3 * UNIT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(addresses_cost_nothing_and_handles_cost_their_size),
		CONTEXT_TEST(physical_memory_is_live_while_it_has_a_handle_or_a_mapping),
		CONTEXT_TEST(two_mappings_of_a_handle_show_the_same_bytes),
		CONTEXT_TEST(a_mapping_needs_reserved_and_free_addresses),
		CONTEXT_TEST(sizes_are_whole_units_and_end_at_the_capacity),
		CONTEXT_TEST(host_memory_belongs_to_no_device),
		CONTEXT_TEST(invalid_properties_are_refused),
		CONTEXT_TEST(access_is_remembered_for_each_device),
		CONTEXT_TEST(memory_is_mapped_from_its_start),
		CONTEXT_TEST(pointers_have_the_attributes_of_their_physical_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
