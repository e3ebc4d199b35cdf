/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <pthread.h>

static CUstream begin(CUstreamCaptureMode mode)
{
	CUstream stream;

	assert_success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_success(cuStreamBeginCapture_v2(stream, mode));
	return stream;
}

static void end_invalidated(CUstream stream)
{
	CUgraph graph;

	assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_null(graph);
	assert_success(cuStreamDestroy_v2(stream));
}

static CUgraph end(CUstream stream)
{
	CUgraph graph;

	assert_success(cuStreamEndCapture(stream, &graph));
	assert_success(cuStreamDestroy_v2(stream));
	return graph;
}

static CUresult ask_pool(void)
{
	CUmemoryPool pool;
	cuuint64_t value;

	assert_success(cuDeviceGetDefaultMemPool(&pool, 0));
	return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value);
}

static void an_unsafe_call_fails_and_invalidates_the_capture(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUstreamCaptureStatus status;

	(void)state;
	assert_success(cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_int_equal(ask_pool(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_success(cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	end_invalidated(stream);
	assert_success(ask_pool());
}

static void a_query_for_free_memory_is_allowed_in_a_capture(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL);

	(void)state;
	assert_int_equal(used_bytes(), 0);
	assert_success(cuGraphDestroy(end(stream)));
}

static void a_thread_in_relaxed_mode_may_make_unsafe_calls(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr address;

	(void)state;
	assert_success(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	assert_success(ask_pool());
	assert_success(cuMemAlloc_v2(&address, MIB));
	assert_success(cuMemFree_v2(address));
	assert_success(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	assert_success(cuGraphDestroy(end(stream)));
}

static void *ask_from_another_thread(void *context)
{
	assert_success(cuCtxSetCurrent(context));
	return (void *)(uintptr_t)ask_pool();
}

static CUresult ask_elsewhere(void *context)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, ask_from_another_thread, context), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	return (CUresult)(uintptr_t)result;
}

static void the_capture_mode_decides_which_threads_are_restricted(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);

	assert_success(ask_pool());
	assert_success(ask_elsewhere(*state));
	assert_success(cuGraphDestroy(end(stream)));

	stream = begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	assert_success(ask_elsewhere(*state));
	assert_int_equal(ask_pool(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(stream);

	stream = begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	assert_int_equal(ask_elsewhere(*state), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(stream);
}

static void an_event_adds_a_second_stream_to_the_capture(void **state)
{
	CUstream first = begin(CU_STREAM_CAPTURE_MODE_RELAXED), second;
	CUstreamCaptureStatus status;
	CUevent event;
	CUgraph graph;

	(void)state;
	assert_success(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	assert_success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	assert_success(cuEventRecord(event, first));
	assert_success(cuStreamWaitEvent(second, event, 0));
	assert_success(cuStreamIsCapturing(second, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_int_equal(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	assert_success(cuGraphDestroy(end(first)));
	assert_success(cuStreamIsCapturing(second, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	assert_success(cuEventDestroy_v2(event));
	assert_success(cuStreamDestroy_v2(second));
}

static void a_captured_allocation_happens_at_launch_at_the_address_it_had(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	CUdeviceptr captured, again;
	CUgraphExec exec;

	(void)state;
	assert_success(cuMemAllocAsync(&captured, MIB, stream));
	assert_int_equal(used_bytes(), 0);
	CUgraph graph = end(stream);

	CUgraphNode node;
	CUgraphNodeType type;
	CUDA_MEM_ALLOC_NODE_PARAMS parameters;
	size_t count = 1;
	assert_success(cuGraphGetNodes(graph, &node, &count));
	assert_int_equal(count, 1);
	assert_success(cuGraphNodeGetType(node, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	assert_success(cuGraphMemAllocNodeGetParams(node, &parameters));
	assert_int_equal(parameters.dptr, captured);
	assert_int_equal(parameters.bytesize, MIB);

	assert_success(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_success(cuGraphDestroy(graph));
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(used_bytes(), 2 * MIB);
	/* While the memory is live, the graph cannot allocate it again. */
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFree_v2(captured));
	assert_success(cuGraphLaunch(exec, NULL));
	assert_success(cuMemGetAddressRange_v2(&again, NULL, captured));
	assert_int_equal(again, captured);
	assert_success(cuMemFreeAsync(captured, NULL));
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuDeviceGraphMemTrim(0));
	assert_int_equal(used_bytes(), 0);
}

static void a_captured_free_happens_at_each_launch(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	CUdeviceptr captured;
	CUgraphExec exec;
	cuuint64_t high_bytes;

	(void)state;
	assert_success(cuMemAllocAsync(&captured, 2 * MIB, stream));
	assert_success(cuMemFreeAsync(captured, stream));
	CUgraph graph = end(stream);
	assert_success(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 3; i++) {
		assert_success(cuGraphLaunch(exec, NULL));
		assert_int_equal(cuMemGetAddressRange_v2(NULL, NULL, captured), CUDA_ERROR_NOT_FOUND);
		/* The memory that the graph needed stays reserved for graphs. */
		assert_int_equal(used_bytes(), 2 * MIB);
	}
	assert_success(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high_bytes));
	assert_int_equal(high_bytes, 2 * MIB);
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphDestroy(graph));
	assert_success(cuDeviceGraphMemTrim(0));
}

static void only_memory_of_graphs_is_freed_in_a_capture(void **state)
{
	CUdeviceptr linear, async;
	CUstream stream;

	(void)state;
	assert_success(cuMemAlloc_v2(&linear, MIB));
	assert_success(cuMemAllocAsync(&async, MIB, NULL));
	stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	assert_int_equal(cuMemFreeAsync(linear, stream), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFreeAsync(async, stream), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphDestroy(end(stream)));
	assert_success(cuMemFree_v2(linear));
	assert_success(cuMemFree_v2(async));
}

static void a_launch_into_a_capture_is_a_node_with_the_graph_in_it(void **state)
{
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	CUgraph inner, outer, inside;
	CUgraphExec exec;
	CUgraphNode node;
	CUgraphNodeType type;
	size_t count = 1;
	char function;

	(void)state;
	assert_success(cuLaunchKernel((CUfunction)(void *)&function, 2, 1, 1, 32, 1, 1, 0, stream, NULL,
		NULL));
	inner = end(stream);
	assert_success(cuGraphInstantiateWithFlags(&exec, inner, 0));
	stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	assert_success(cuGraphLaunch(exec, stream));
	outer = end(stream);
	assert_success(cuGraphGetNodes(outer, &node, &count));
	assert_success(cuGraphNodeGetType(node, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
	assert_success(cuGraphChildGraphNodeGetGraph(node, &inside));
	assert_success(cuGraphGetNodes(inside, &node, &count));
	assert_int_equal(count, 1);
	CUDA_KERNEL_NODE_PARAMS kernel;
	assert_success(cuGraphKernelNodeGetParams_v2(node, &kernel));
	assert_ptr_equal(kernel.func, &function);
	assert_int_equal(kernel.gridDimX * kernel.blockDimX, 64);
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphDestroy(inner));
	assert_success(cuGraphDestroy(outer));
}

static void captured_copies_and_fills_have_their_parameters(void **state)
{
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUgraphNode nodes[2];
	CUdeviceptr memory;
	char host[100] = { 1 };
	size_t count = 2;

	(void)state;
	assert_success(cuMemAlloc_v2(&memory, MIB));
	assert_success(cuMemsetD8_v2(memory, 0, MIB));
	CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	assert_success(cuMemcpyHtoDAsync_v2(memory, host, sizeof(host), stream));
	assert_success(cuMemsetD32Async(memory, 7, 25, stream));
	CUgraph graph = end(stream);
	assert_success(cuGraphGetNodes(graph, nodes, &count));
	assert_success(cuGraphMemcpyNodeGetParams(nodes[0], &copy));
	assert_int_equal(copy.dstDevice, memory);
	assert_int_equal(copy.WidthInBytes, 100);
	assert_success(cuGraphMemsetNodeGetParams(nodes[1], &fill));
	assert_int_equal(fill.dst, memory);
	assert_int_equal(fill.width * fill.elementSize, 100);
	/* No work of the capture has happened yet. */
	assert_success(cuMemcpyDtoH_v2(host, memory, sizeof(host)));
	assert_int_equal(host[0], 0);
	assert_success(cuGraphDestroy(graph));
	assert_success(cuMemFree_v2(memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(an_unsafe_call_fails_and_invalidates_the_capture),
		CONTEXT_TEST(a_query_for_free_memory_is_allowed_in_a_capture),
		CONTEXT_TEST(a_thread_in_relaxed_mode_may_make_unsafe_calls),
		CONTEXT_TEST(the_capture_mode_decides_which_threads_are_restricted),
		CONTEXT_TEST(an_event_adds_a_second_stream_to_the_capture),
		CONTEXT_TEST(a_captured_allocation_happens_at_launch_at_the_address_it_had),
		CONTEXT_TEST(a_captured_free_happens_at_each_launch),
		CONTEXT_TEST(only_memory_of_graphs_is_freed_in_a_capture),
		CONTEXT_TEST(a_launch_into_a_capture_is_a_node_with_the_graph_in_it),
		CONTEXT_TEST(captured_copies_and_fills_have_their_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
