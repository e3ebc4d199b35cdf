/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <unistd.h>

#include "../driver/accounting.h"

/* Device memory that is used without an allocation call, and which interfaces report it. */

#define CONTEXT_BYTES (100 * MIB)
#define MODULE_BYTES (3 * MIB)
#define OTHERS_BYTES (50 * MIB)

enum { OTHER_PROCESS = (1 << 22) + 1 };
enum { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7, NVML_VERSION_MISMATCH = 25 };

struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
};
struct nvml_process {
	unsigned int id;
	unsigned long long used_bytes;
};
struct nvml_process_v2 {
	unsigned int id;
	unsigned long long used_bytes;
	unsigned int instances[2];
};
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetMemoryInfo_v2(void *device, struct nvml_memory_v2 *memory);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *count,
	struct nvml_process *processes);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
	struct nvml_process_v2 *processes);

/* The listed charges of a device must add up to all its used bytes. */
static void expect_list_to_add_up(void)
{
	struct simcuda_item items[64];
	size_t sum = 0, count = simcuda_list(items, 64);

	assert_true(count <= 64);
	for (size_t i = 0; i < count; i++)
		sum += items[i].device == 0 ? items[i].charged_bytes : 0;
	assert_int_equal(sum, simcuda_used_bytes(0));
	assert_int_equal(sum + OTHERS_BYTES, used_bytes());
}

static const char image[] = "some code";

static void a_context_costs_memory_from_its_creation_to_its_end(void **state)
{
	CUcontext second;

	(void)state;
	size_t before = used_bytes();
	assert_int_equal(before, OTHERS_BYTES + CONTEXT_BYTES);
	assert_success(cuCtxCreate_v2(&second, 0, 0));
	assert_int_equal(used_bytes() - before, CONTEXT_BYTES);
	assert_success(cuCtxDestroy_v2(second));
	assert_int_equal(used_bytes(), before);
}

static void a_primary_context_costs_once_even_if_retained_often(void **state)
{
	CUcontext first, second;

	(void)state;
	size_t before = used_bytes();
	assert_success(cuDevicePrimaryCtxRetain(&first, 0));
	assert_success(cuDevicePrimaryCtxRetain(&second, 0));
	assert_int_equal(used_bytes() - before, CONTEXT_BYTES);
	assert_success(cuDevicePrimaryCtxRelease_v2(0));
	assert_int_equal(used_bytes() - before, CONTEXT_BYTES);
	assert_success(cuDevicePrimaryCtxRelease_v2(0));
	assert_int_equal(used_bytes(), before);
}

static void a_context_that_does_not_fit_is_not_created(void **state)
{
	CUcontext context;
	CUdeviceptr block;

	(void)state;
	size_t rest = CAPACITY_BYTES - used_bytes();
	assert_success(cuMemAlloc_v2(&block, rest - CONTEXT_BYTES + 512));
	assert_int_equal(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	assert_success(cuMemFree_v2(block));
}

static void a_module_costs_until_it_is_unloaded_or_its_context_ends(void **state)
{
	CUcontext second;
	CUmodule module, left;

	size_t before = used_bytes();
	assert_success(cuModuleLoadData(&module, image));
	assert_int_equal(used_bytes() - before, MODULE_BYTES);
	assert_success(cuModuleUnload(module));
	assert_int_equal(used_bytes(), before);

	assert_success(cuCtxCreate_v2(&second, 0, 0));
	assert_success(cuModuleLoadData(&left, image));
	assert_int_equal(used_bytes() - before, CONTEXT_BYTES + MODULE_BYTES);
	expect_list_to_add_up();
	assert_success(cuCtxDestroy_v2(second));
	assert_success(cuCtxSetCurrent(*state));
	assert_int_equal(used_bytes(), before);
	assert_int_equal(cuModuleUnload(left), CUDA_ERROR_INVALID_HANDLE);
}

static void a_raised_limit_costs_the_difference_until_it_is_lowered(void **state)
{
	size_t heap, stack;

	(void)state;
	size_t before = used_bytes();
	assert_success(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
	assert_success(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, heap + 64 * MIB));
	assert_int_equal(used_bytes() - before, 64 * MIB);
	assert_success(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, heap));
	assert_int_equal(used_bytes(), before);

	/* There is one stack for each of 64 x 2048 threads. */
	assert_success(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
	assert_success(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stack + 1024));
	assert_int_equal(used_bytes() - before, 128 * MIB);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(used_bytes() - before, 128 * MIB);
	assert_success(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stack));
	assert_success(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 5 * MIB));
	assert_int_equal(used_bytes() - before, 4 * MIB);
	expect_list_to_add_up();
	/* The end of the context also frees the cost of the last raised limit. */
}

static void the_management_library_lists_each_process(void **state)
{
	struct nvml_memory_v2 memory = { .version = sizeof(memory) | 2u << 24 };
	unsigned long long old_memory[3];
	struct nvml_process processes[2];
	struct nvml_process_v2 newer[2];
	unsigned int count = 1;
	CUdeviceptr block;
	void *device;

	(void)state;
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_int_equal(nvmlInit_v2(), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_SUCCESS);
	assert_int_equal(memory.used_bytes, OTHERS_BYTES + CONTEXT_BYTES + MIB);
	assert_int_equal(memory.used_bytes + memory.free_bytes, CAPACITY_BYTES);
	assert_int_equal(memory.used_bytes, used_bytes());
	memory.version = 0;
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_VERSION_MISMATCH);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, old_memory), NVML_SUCCESS);
	assert_int_equal(old_memory[2], memory.used_bytes);

	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &count, processes),
		NVML_INSUFFICIENT_SIZE);
	assert_int_equal(count, 2);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &count, processes), NVML_SUCCESS);
	assert_int_equal(processes[0].id, OTHER_PROCESS);
	assert_int_equal(processes[0].used_bytes, OTHERS_BYTES);
	assert_int_equal(processes[1].id, getpid());
	assert_int_equal(processes[1].used_bytes, CONTEXT_BYTES + MIB);

	/* Simulates a container with its own process ids. */
	setenv("SIMCUDA_PROCESS_ID", "4000001", 1);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, newer), NVML_SUCCESS);
	assert_int_equal(count, 2);
	assert_int_equal(newer[1].id, 4000001);
	assert_int_equal(newer[1].used_bytes, CONTEXT_BYTES + MIB);
	unsetenv("SIMCUDA_PROCESS_ID");

	/* Only the other process uses device 1. */
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &count, processes), NVML_SUCCESS);
	assert_int_equal(count, 1);
	assert_success(cuMemFree_v2(block));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(a_context_costs_memory_from_its_creation_to_its_end),
		CONTEXT_TEST(a_primary_context_costs_once_even_if_retained_often),
		CONTEXT_TEST(a_context_that_does_not_fit_is_not_created),
		CONTEXT_TEST(a_module_costs_until_it_is_unloaded_or_its_context_ends),
		CONTEXT_TEST(a_raised_limit_costs_the_difference_until_it_is_lowered),
		CONTEXT_TEST(the_management_library_lists_each_process),
	};

	setenv("SIMCUDA_CONTEXT_MEMORY", "100M", 1);
	setenv("SIMCUDA_MODULE_MEMORY", "3M", 1);
	setenv("SIMCUDA_OTHERS_MEMORY", "50M", 1);
	setenv("SIMCUDA_LIMIT_MEMORY", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
