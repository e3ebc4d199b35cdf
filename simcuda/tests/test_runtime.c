/* SPDX-License-Identifier: MIT */
/*
 * Tests the runtime, once as a shared library and once linked into this program. The program
 * interposes between runtime and dynamic linker, and between runtime and driver. It records what
 * the runtime requests.
 */
#include "testing.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

enum { MAX_REQUESTS = 1000 };

struct request {
	char name[64];
	int version;
	cuuint64_t flags;
	int has_status;
};

static struct request requests[MAX_REQUESTS];
static size_t request_count;
static char opened[8][32], looked_up[8][32];
static size_t open_count, lookup_count;
static size_t allocation_calls;

static __typeof__(&cuGetProcAddress_v2) real_get_proc_address;
static __typeof__(&cuMemAlloc_v2) real_allocate;

static CUresult counted_allocate(CUdeviceptr *ret_address, size_t size_bytes)
{
	allocation_calls++;
	return real_allocate(ret_address, size_bytes);
}

static CUresult recorded_get_proc_address(const char *name, void **ret_address, int version,
	cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)
{
	if (request_count < MAX_REQUESTS) {
		struct request *request = &requests[request_count++];
		strncpy(request->name, name, sizeof(request->name) - 1);
		request->version = version;
		request->flags = flags;
		request->has_status = ret_status != NULL;
	}
	CUresult result = real_get_proc_address(name, ret_address, version, flags, ret_status);
	if (result == CUDA_SUCCESS && strcmp(name, "cuMemAlloc") == 0 && version >= 3020) {
		memcpy(&real_allocate, ret_address, sizeof(real_allocate));
		*ret_address = (void *)(uintptr_t)counted_allocate;
	}
	return result;
}

/* Returns the dynamic linker's own function, which this program hides from the runtime. */
static void *real(const char *name)
{
	void *address = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");

	return address ? address : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
	void *(*next)(const char *, int) = (void *(*)(const char *, int))(uintptr_t)real("dlopen");

	if (path && open_count < 8)
		strncpy(opened[open_count++], path, sizeof(opened[0]) - 1);
	return next(path, flags);
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
	void *(*next)(void *, const char *) = (void *(*)(void *, const char *))(uintptr_t)real("dlsym");
	void *address = next(handle, name);

	if (lookup_count < 8)
		strncpy(looked_up[lookup_count++], name, sizeof(looked_up[0]) - 1);
	if (strcmp(name, "cuGetProcAddress_v2") == 0) {
		memcpy(&real_get_proc_address, &address, sizeof(address));
		return (void *)(uintptr_t)recorded_get_proc_address;
	}
	return address;
}

static int is_requested(const char *name, int version, cuuint64_t flags)
{
	for (size_t i = 0; i < request_count; i++)
		if (strcmp(requests[i].name, name) == 0 && requests[i].version == version &&
			requests[i].flags == flags)
			return 1;
	return 0;
}

/* Runs first, because it observes the first call. */
static void the_driver_is_found_at_the_first_call_and_asked_as_nvidias_runtime_asks(void **state)
{
	int count = 0;

	(void)state;
	assert_int_equal(open_count, 0);
	assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
	assert_int_equal(count, 2);

	assert_int_equal(open_count, 1);
	assert_string_equal(opened[0], "libcuda.so.1");
	assert_int_equal(lookup_count, 1);
	assert_string_equal(looked_up[0], "cuGetProcAddress_v2");
	assert_string_equal(requests[0].name, "");
	assert_int_equal(requests[0].version, 0);
	for (size_t i = 0; i < request_count; i++)
		assert_false(requests[i].has_status);
	assert_true(is_requested("cuMemAlloc", 3020, 0));
	assert_true(is_requested("cuMemAllocAsync", 11020, 0));
	assert_true(is_requested("cuMemAllocAsync", 11020, 2));
	assert_true(is_requested("cuGetProcAddress", 11030, 0));
	assert_true(is_requested("cuGetProcAddress", 12000, 0));

	size_t requested = request_count;
	assert_int_equal(cudaFree(NULL), cudaSuccess);
	assert_int_equal(request_count, requested);
}

static void allocations_go_through_the_pointer_that_the_lookup_gave(void **state)
{
	size_t before = allocation_calls, free_bytes, total_bytes;
	void *address;

	(void)state;
	assert_int_equal(cudaMalloc(&address, MIB), cudaSuccess);
	assert_int_equal(allocation_calls, before + 1);
	assert_int_equal(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
	assert_int_equal(total_bytes - free_bytes, MIB);
	assert_int_equal(cudaFree(address), cudaSuccess);

	/* For 0 bytes, the runtime does not call the driver. */
	assert_int_equal(cudaMalloc(&address, 0), cudaSuccess);
	assert_null(address);
	assert_int_equal(allocation_calls, before + 1);
}

static void the_last_error_is_returned_once_and_then_cleared(void **state)
{
	void *address;

	(void)state;
	assert_int_equal(cudaMalloc(&address, 2 * CAPACITY_BYTES), cudaErrorMemoryAllocation);
	assert_int_equal(cudaFree(NULL), cudaSuccess);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
	assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

static void a_thread_uses_the_device_that_it_set(void **state)
{
	struct cudaPointerAttributes attributes;
	void *address;
	int device;

	(void)state;
	assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
	cudaGetLastError();
	assert_int_equal(cudaSetDevice(1), cudaSuccess);
	assert_int_equal(cudaGetDevice(&device), cudaSuccess);
	assert_int_equal(device, 1);
	assert_int_equal(cudaMalloc(&address, 100), cudaSuccess);
	assert_int_equal(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
	assert_int_equal(attributes.type, cudaMemoryTypeDevice);
	assert_int_equal(attributes.device, 1);
	assert_int_equal(cudaPointerGetAttributes(&attributes, &device), cudaSuccess);
	assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
	assert_int_equal(cudaFree(address), cudaSuccess);
	assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static void a_reset_frees_all_memory_and_the_next_call_starts_again(void **state)
{
	size_t free_bytes, total_bytes;
	void *address;

	(void)state;
	assert_int_equal(cudaMalloc(&address, MIB), cudaSuccess);
	assert_int_equal(cudaDeviceReset(), cudaSuccess);
	assert_int_equal(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
	assert_int_equal(free_bytes, total_bytes);
	assert_int_equal(cudaFree(address), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
}

static void driver_functions_are_returned_with_a_status(void **state)
{
	enum cudaDriverEntryPointQueryResult status;
	void *address;

	(void)state;
	assert_int_equal(cudaGetDriverEntryPointByVersion("cuMemCreate", &address, 12000,
						 cudaEnableDefault, &status),
		cudaSuccess);
	assert_int_equal(status, cudaDriverEntryPointSuccess);
	assert_non_null(address);
	assert_int_equal(cudaGetDriverEntryPointByVersion("cuNothing", &address, 12000,
						 cudaEnableDefault, &status),
		cudaSuccess);
	assert_int_equal(status, cudaDriverEntryPointSymbolNotFound);
	assert_null(address);
}

static void properties_are_those_of_the_driver(void **state)
{
	struct cudaDeviceProp properties;

	(void)state;
	assert_int_equal(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
	assert_string_equal(properties.name, "Simulated GPU");
	assert_int_equal(properties.totalGlobalMem, CAPACITY_BYTES);
	assert_int_equal(properties.major, 9);
	assert_int_equal(properties.pciBusID, 2);
	assert_int_equal(cudaGetDeviceProperties(&properties, 7), cudaErrorInvalidDevice);
	cudaGetLastError();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_driver_is_found_at_the_first_call_and_asked_as_nvidias_runtime_asks),
		cmocka_unit_test(allocations_go_through_the_pointer_that_the_lookup_gave),
		cmocka_unit_test(the_last_error_is_returned_once_and_then_cleared),
		cmocka_unit_test(a_thread_uses_the_device_that_it_set),
		cmocka_unit_test(a_reset_frees_all_memory_and_the_next_call_starts_again),
		cmocka_unit_test(driver_functions_are_returned_with_a_status),
		cmocka_unit_test(properties_are_those_of_the_driver),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
