/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <pthread.h>

#include "../driver/accounting.h"

/* Many threads at once, each with its own objects: no object is lost or counted twice. */

enum { THREADS = 8, ROUNDS = 200 };

static CUresult failure;
static char image[] = ".version 8.0\n.global .align 4 .b8 table[1000];\n";

/* Stores the first error of all threads. */
static void expect(CUresult result)
{
	CUresult none = CUDA_SUCCESS;

	if (result != CUDA_SUCCESS)
		__atomic_compare_exchange_n(&failure, &none, result, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void allocate_in_a_graph(CUstream stream)
{
	CUdeviceptr first, second;
	CUgraph graph;
	CUgraphExec exec;

	expect(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	expect(cuMemAllocAsync(&first, MIB, stream));
	expect(cuMemAllocAsync(&second, MIB, stream));
	expect(cuMemFreeAsync(first, stream));
	expect(cuStreamEndCapture(stream, &graph));
	expect(cuGraphInstantiateWithFlags(&exec, graph, 0));
	expect(cuGraphLaunch(exec, stream));
	expect(cuGraphExecDestroy(exec));
	expect(cuGraphDestroy(graph));
	expect(cuMemFreeAsync(second, stream));
}

static void *work(void *argument)
{
	CUcontext primary, own;
	CUmodule module;
	CUstream stream;
	CUdeviceptr block;

	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		expect(cuDevicePrimaryCtxRetain(&primary, 0));
		expect(cuCtxSetCurrent(primary));
		expect(cuModuleLoadData(&module, image));
		expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		allocate_in_a_graph(stream);
		expect(cuCtxCreate_v2(&own, 0, 0));
		expect(cuMemAlloc_v2(&block, MIB));
		expect(cuCtxDestroy_v2(own));
		expect(cuStreamDestroy_v2(stream));
		expect(cuModuleUnload(module));
		expect(cuDevicePrimaryCtxRelease_v2(0));
	}
	expect(cuCtxSetCurrent(NULL));
	return NULL;
}

static void concurrent_allocations_and_frees_add_up_to_zero(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	assert_success(cuInit(0));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_success(failure);
	assert_success(cuDeviceGraphMemTrim(0));
	assert_int_equal(simcuda_used_bytes(0), 0);
	/* Only the pools of the two devices are left. */
	struct simcuda_item items[8];
	size_t count = simcuda_list(items, 8);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(items[i].kind, SIMCUDA_KIND_POOL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(concurrent_allocations_and_frees_add_up_to_zero),
	};

	setenv("SIMCUDA_CONTEXT_MEMORY", "1M", 1);
	setenv("SIMCUDA_MODULE_MEMORY", "1M", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
