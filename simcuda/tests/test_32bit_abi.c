/* SPDX-License-Identifier: MIT */
#include "testing.h"

/* Forms with 32-bit device addresses and sizes: the calls of a CUDA 3.0 program. */

static void addresses_of_32_bits_are_allocated_used_and_freed(void **state)
{
	CUdeviceptr_v1 address, base;
	unsigned int size_bytes;
	char read_back[6] = "";

	(void)state;
	assert_success(cuMemAlloc(&address, 5000));
	assert_int_equal(used_bytes(), 5120);
	assert_success(cuMemcpyHtoD(address + 100, "hello", 6));
	assert_success(cuMemcpyDtoD(address + 200, address + 100, 6));
	assert_success(cuMemcpyDtoH(read_back, address + 200, 6));
	assert_string_equal(read_back, "hello");
	assert_success(cuMemsetD8(address, 'x', 101));
	assert_success(cuMemcpyDtoH(read_back, address + 100, 6));
	assert_string_equal(read_back, "xello");
	assert_success(cuMemGetAddressRange(&base, &size_bytes, address + 4999));
	assert_int_equal(base, address);
	assert_int_equal(size_bytes, 5000);
	assert_success(cuMemFree(address));
	assert_int_equal(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), 0);
}

static void low_memory_runs_out_and_comes_back(void **state)
{
	static CUdeviceptr_v1 addresses[64];
	unsigned int count = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		CUresult result = CUDA_SUCCESS;
		for (count = 0; count < 64 && result == CUDA_SUCCESS; count += result == CUDA_SUCCESS)
			result = cuMemAlloc(&addresses[count], 96 * MIB);
		/*
		 * The device's 1 GiB is the limit, not the 4 GiB of addresses. It has space for ten such
		 * blocks.
		 */
		assert_int_equal(result, CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(count, 10);
		while (count > 0)
			assert_success(cuMemFree(addresses[--count]));
	}
}

static void high_addresses_do_not_fit(void **state)
{
	CUdeviceptr high;
	CUdeviceptr_v1 low;
	unsigned int size_bytes, total_bytes;
	void *pinned, *low_pinned;

	(void)state;
	assert_success(cuMemAlloc_v2(&high, 1000));
	assert_true(high > UINT32_MAX);
	assert_int_equal(cuMemFree((CUdeviceptr_v1)high), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	assert_int_equal(cuMemHostGetDevicePointer(&low, pinned, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemAllocHost(&low_pinned, 4096));
	assert_success(cuMemHostGetDevicePointer(&low, low_pinned, 0));
	assert_int_equal(low, (uintptr_t)low_pinned);
	assert_success(cuMemGetInfo(&size_bytes, &total_bytes));
	assert_int_equal(total_bytes, CAPACITY_BYTES);
	assert_int_equal(total_bytes - size_bytes, 1024);
	assert_success(cuDeviceTotalMem(&total_bytes, 0));
	assert_int_equal(total_bytes, CAPACITY_BYTES);
	assert_success(cuMemFreeHost(pinned));
	assert_success(cuMemFreeHost(low_pinned));
	assert_success(cuMemFree_v2(high));
}

static void rows_and_arrays_have_old_forms_too(void **state)
{
	CUDA_ARRAY_DESCRIPTOR_v1 flat = { 100, 10, CU_AD_FORMAT_FLOAT, 1 }, flat_again;
	CUDA_ARRAY3D_DESCRIPTOR_v1 deep = { 16, 8, 4, CU_AD_FORMAT_HALF, 2, 0 }, deep_again;
	CUdeviceptr_v1 address;
	CUarray array;
	unsigned int pitch_bytes;

	(void)state;
	assert_success(cuMemAllocPitch(&address, &pitch_bytes, 100, 10, 4));
	assert_int_equal(pitch_bytes, 512);
	assert_int_equal(used_bytes(), 5120);
	assert_success(cuMemsetD2D8(address, pitch_bytes, 1, 100, 10));
	assert_success(cuMemFree(address));
	assert_success(cuArrayCreate(&array, &flat));
	assert_int_equal(used_bytes(), 4096);
	assert_success(cuArrayGetDescriptor(&flat_again, array));
	assert_memory_equal(&flat, &flat_again, sizeof(flat));
	assert_success(cuArrayDestroy(array));
	assert_success(cuArray3DCreate(&array, &deep));
	assert_int_equal(used_bytes(), 2048);
	assert_success(cuArray3DGetDescriptor(&deep_again, array));
	assert_memory_equal(&deep, &deep_again, sizeof(deep));
	assert_success(cuArrayDestroy(array));
	assert_int_equal(used_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(addresses_of_32_bits_are_allocated_used_and_freed),
		CONTEXT_TEST(low_memory_runs_out_and_comes_back),
		CONTEXT_TEST(high_addresses_do_not_fit),
		CONTEXT_TEST(rows_and_arrays_have_old_forms_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
