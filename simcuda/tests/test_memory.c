/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <sys/mman.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs first, because it tests the time before cuInit. */
static void calls_before_init_or_without_a_context_return_that_error(void **state)
{
	CUdeviceptr address;
	int count;

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuInit(0));
	assert_success(cuDeviceGetCount(&count));
	assert_int_equal(count, 2);
	assert_int_equal(cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuMemFree_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

static void a_block_is_charged_in_units_and_refunded_whole(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemAlloc_v2(&address, 513));
	assert_int_equal(used_bytes(), 1024);
	assert_success(cuMemFree_v2(address));
	assert_int_equal(used_bytes(), 0);
}

static void a_pitched_block_is_pitch_times_height(void **state)
{
	CUdeviceptr address;
	size_t pitch_bytes;

	(void)state;
	assert_success(cuMemAllocPitch_v2(&address, &pitch_bytes, 1000, 10, 4));
	assert_int_equal(pitch_bytes, 1024);
	assert_int_equal(used_bytes(), 10 * 1024);
	assert_success(cuMemFree_v2(address));
}

static void only_the_start_of_a_live_block_can_be_freed_and_only_once(void **state)
{
	CUdeviceptr address;
	void *pinned;

	(void)state;
	assert_success(cuMemAlloc_v2(&address, MIB));
	assert_int_equal(cuMemFree_v2(address + 256), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(address));
	assert_int_equal(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree_v2(0x1000), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(0));

	/* Each kind of memory has its own free function. */
	assert_success(cuMemHostAlloc(&pinned, MIB, 0));
	assert_int_equal(cuMemFree_v2((CUdeviceptr)pinned), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFreeHost(pinned));
	assert_int_equal(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}

static void memory_can_be_allocated_up_to_the_capacity(void **state)
{
	CUdeviceptr large, rest, none;

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&none, CAPACITY_BYTES + 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAlloc_v2(&none, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemAlloc_v2(&large, CAPACITY_BYTES - 512));
	assert_int_equal(cuMemAlloc_v2(&none, 513), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemAlloc_v2(&rest, 512));
	assert_int_equal(cuMemAlloc_v2(&none, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAlloc_v2(&none, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(large));
	assert_success(cuMemFree_v2(rest));
	assert_int_equal(used_bytes(), 0);
}

static void each_device_has_its_own_memory(void **state)
{
	CUcontext other;
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemAlloc_v2(&address, MIB));
	assert_success(cuCtxCreate_v2(&other, 0, 1));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuCtxDestroy_v2(other));
	assert_int_equal(used_bytes(), MIB);
	assert_success(cuMemFree_v2(address));
}

static void a_destroyed_context_frees_its_blocks_and_no_pool_memory(void **state)
{
	CUcontext passing;
	CUdeviceptr lost, kept;

	(void)state;
	assert_success(cuCtxCreate_v2(&passing, 0, 0));
	assert_success(cuMemAlloc_v2(&lost, MIB));
	assert_success(cuMemAllocAsync(&kept, MIB, NULL));
	assert_success(cuCtxDestroy_v2(passing));
	assert_int_equal(cuMemFree_v2(lost), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(kept));
	assert_int_equal(used_bytes(), 0);
}

static void bytes_copied_to_the_device_can_be_copied_back(void **state)
{
	const char sent[] = "there and back again";
	char received[sizeof(sent)] = "";
	CUdeviceptr first, second;

	(void)state;
	assert_success(cuMemAlloc_v2(&first, sizeof(sent)));
	assert_success(cuMemAlloc_v2(&second, sizeof(sent)));
	assert_success(cuMemcpyHtoD_v2(first, sent, sizeof(sent)));
	assert_success(cuMemcpyDtoDAsync_v2(second, first, sizeof(sent), NULL));
	assert_success(cuMemcpyDtoH_v2(received, second, sizeof(sent)));
	assert_string_equal(received, sent);
	assert_int_equal(cuMemcpyHtoD_v2(first, sent, sizeof(sent) + 1), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(first));
	assert_success(cuMemFree_v2(second));
}

static void a_large_fill_with_zeros_clears_the_ends_too(void **state)
{
	enum { SIZE = 3 << 20, EDGE = 100 };
	CUdeviceptr address;

	(void)state;
	assert_success(cuMemAlloc_v2(&address, SIZE));
	assert_success(cuMemsetD8_v2(address, 7, SIZE));
	assert_success(cuMemsetD8_v2(address + EDGE, 0, SIZE - 2 * EDGE));
	const unsigned char *bytes = (const unsigned char *)address;
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(bytes[i], i < EDGE || i >= SIZE - EDGE ? 7 : 0);
	assert_success(cuMemFree_v2(address));
}

static void a_pointer_has_the_attributes_of_its_block(void **state)
{
	CUdeviceptr address, base;
	CUmemorytype type;
	size_t size_bytes;
	int on_stack;

	(void)state;
	assert_success(cuMemAlloc_v2(&address, 5000));
	assert_success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 4999));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_success(cuMemGetAddressRange_v2(&base, &size_bytes, address + 4999));
	assert_int_equal(base, address);
	assert_int_equal(size_bytes, 5000);
	assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						 (CUdeviceptr)&on_stack),
		CUDA_ERROR_INVALID_VALUE);

	/* For an unknown pointer, a query of several attributes returns zeros and no error. */
	CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	void *value = &type;
	assert_success(cuPointerGetAttributes(1, &wanted, &value, (CUdeviceptr)&on_stack));
	assert_int_equal(type, 0);
	assert_success(cuMemFree_v2(address));
}

static void registered_memory_still_belongs_to_the_caller(void **state)
{
	static char memory[8192];

	(void)state;
	assert_success(cuMemHostRegister_v2(memory, sizeof(memory), 0));
	assert_int_equal(cuMemHostRegister_v2(memory + 4096, 4096, 0),
		CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_success(cuMemHostUnregister(memory));
	assert_int_equal(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	memory[0] = 1;
}

enum { THREADS = 4, ROUNDS = 2000 };

/* Returns a text that describes the failure, or NULL on success. */
static const char *allocate_and_free_in(CUcontext context)
{
	CUdeviceptr addresses[8];

	if (cuCtxSetCurrent(context) != CUDA_SUCCESS)
		return "no context";
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 8; i++)
			if (cuMemAlloc_v2(&addresses[i], (size_t)(1 + round * 8 + i)) != CUDA_SUCCESS)
				return "no memory";
		for (int i = 0; i < 8; i++)
			if (cuMemFree_v2(addresses[i]) != CUDA_SUCCESS)
				return "not freed";
	}
	return NULL;
}

static void *allocate_and_free(void *context)
{
	return (void *)(uintptr_t)allocate_and_free_in(context);
}

static void threads_can_allocate_at_the_same_time(void **state)
{
	pthread_t threads[THREADS];
	void *complaint;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, *state), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &complaint), 0);
		assert_null(complaint);
	}
	assert_int_equal(used_bytes(), 0);
}

static void a_forked_child_has_no_cuda(void **state)
{
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		CUdeviceptr address;
		_exit(cuMemAlloc_v2(&address, 1) == CUDA_ERROR_NOT_INITIALIZED &&
					cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
				? 0
				: 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void new_memory_does_not_overlap_memory_that_stays_registered(void **state)
{
	CUdeviceptr blocks[8];
	void *memory = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_success(cuMemHostRegister_v2(memory, 4 * MIB, 0));
	/*
	 * The host may put the next mapping there, although the program has not unregistered the
	 * memory.
	 */
	assert_int_equal(munmap(memory, 4 * MIB), 0);
	for (int i = 0; i < 8; i++) {
		assert_success(cuMemAlloc_v2(&blocks[i], MIB));
		assert_true(blocks[i] + MIB <= (uintptr_t)memory ||
			blocks[i] >= (uintptr_t)memory + 4 * MIB);
	}
	for (int i = 0; i < 8; i++)
		assert_success(cuMemFree_v2(blocks[i]));
	assert_success(cuMemHostUnregister(memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_before_init_or_without_a_context_return_that_error),
		CONTEXT_TEST(a_block_is_charged_in_units_and_refunded_whole),
		CONTEXT_TEST(a_pitched_block_is_pitch_times_height),
		CONTEXT_TEST(only_the_start_of_a_live_block_can_be_freed_and_only_once),
		CONTEXT_TEST(memory_can_be_allocated_up_to_the_capacity),
		CONTEXT_TEST(each_device_has_its_own_memory),
		CONTEXT_TEST(a_destroyed_context_frees_its_blocks_and_no_pool_memory),
		CONTEXT_TEST(bytes_copied_to_the_device_can_be_copied_back),
		CONTEXT_TEST(a_large_fill_with_zeros_clears_the_ends_too),
		CONTEXT_TEST(a_pointer_has_the_attributes_of_its_block),
		CONTEXT_TEST(registered_memory_still_belongs_to_the_caller),
		CONTEXT_TEST(threads_can_allocate_at_the_same_time),
		CONTEXT_TEST(a_forked_child_has_no_cuda),
		CONTEXT_TEST(new_memory_does_not_overlap_memory_that_stays_registered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
