/* SPDX-License-Identifier: MIT */
/*
 * captures: captures a stream in each mode. Meanwhile the capturing thread or another thread does
 * one action. Each line is the result: "MODE THREAD ACTION RESULTS STATUS END NODES MODE_AFTER".
 * STATUS says whether the stream still captures. END is the result of the end of the capture. All
 * lines must be the same with and without a recorder: its own calls must not disturb a capture.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, TOO_MUCH = 1 << 20 /* MiB */ };

static const char image[] =
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n";
static CUcontext context;
static CUstream stream, other_stream;
static CUgraphExec other_exec; /* has its own memory, like its graph */
static CUgraph other_graph;

/* The results of the calls of one action. */
static int results[16], result_count;

static int did(int result)
{
	if (result_count < 16)
		results[result_count++] = result;
	return result;
}

/*
 * --- actions
 * --------------------------------------------------------------------------------------
 */

static void allocate(void)
{
	CUdeviceptr block;

	if (!did(cuMemAlloc_v2(&block, 1400)))
		did(cuMemFree_v2(block));
}

static void capture_memory(void)
{
	CUdeviceptr block;

	if (!did(cuMemAllocAsync(&block, 1000, stream)))
		did(cuMemFreeAsync(block, stream));
}

static void capture_by_runtime(void)
{
	void *block;

	if (!did(cudaMallocAsync(&block, 1100, stream)))
		did(cudaFreeAsync(block, stream));
	did(cudaPeekAtLastError());
}

static void capture_from_pool(void)
{
	CUmemoryPool pool;
	CUdeviceptr block;

	if (!did(cuDeviceGetDefaultMemPool(&pool, 0)) &&
		!did(cuMemAllocFromPoolAsync(&block, 1200, pool, stream)))
		did(cuMemFreeAsync(block, stream));
}

/* Makes the call in a capture that the allocation may have spoilt. */
static void capture_after_allocation(void)
{
	CUdeviceptr block;

	allocate();
	if (!did(cuMemAllocAsync(&block, 1250, stream)))
		did(cuMemFreeAsync(block, stream));
}

static void capture_too_much(void)
{
	CUdeviceptr block;

	did(cuMemAllocAsync(&block, (size_t)TOO_MUCH * MIB, stream));
}

static void on_other_stream(void)
{
	CUdeviceptr block;

	if (!did(cuMemAllocAsync(&block, 1300, other_stream)))
		did(cuMemFreeAsync(block, other_stream));
}

static void too_much_on_other_stream(void)
{
	CUdeviceptr block;

	did(cuMemAllocAsync(&block, (size_t)TOO_MUCH * MIB, other_stream));
}

static void allocate_too_much(void)
{
	CUdeviceptr block;

	did(cuMemAlloc_v2(&block, (size_t)TOO_MUCH * MIB));
}

static void allocate_by_runtime(void)
{
	void *block;

	if (!did(cudaMalloc(&block, 1500)))
		did(cudaFree(block));
	did(cudaGetLastError());
}

static void allocate_host(void)
{
	void *block;

	if (!did(cuMemHostAlloc(&block, 1600, 0)))
		did(cuMemFreeHost(block));
}

static void free_nothing(void)
{
	did(cuMemFree_v2(0));
	did(cuMemFree_v2(0x123000));
	did(cuMemFreeAsync(0x123000, stream));
}

static void load_code(void)
{
	CUmodule module;

	if (!did(cuModuleLoadData(&module, image)))
		did(cuModuleUnload(module));
}

static void set_limit(void)
{
	did(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 * MIB));
	did(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 * MIB));
}

static void make_context(void)
{
	CUcontext made, popped;

	if (!did(cuCtxCreate_v2(&made, 0, 0))) {
		did(cuCtxDestroy_v2(made));
		cuCtxSetCurrent(context);
	}
	if (!did(cuDevicePrimaryCtxRetain(&popped, 1)))
		did(cuDevicePrimaryCtxRelease_v2(1));
}

static void ask_for_memory(void)
{
	size_t free_bytes, total_bytes;

	did(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	did(cudaMemGetInfo(&free_bytes, &total_bytes));
}

static void make_pool(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemoryPool pool;
	cuuint64_t threshold = MIB;

	if (did(cuMemPoolCreate(&pool, &properties)))
		return;
	did(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	did(cuMemPoolTrimTo(pool, 0));
	did(cuMemPoolDestroy(pool));
}

static void map_memory(void)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	if (did(cuMemCreate(&handle, 2 * MIB, &properties, 0)) ||
		did(cuMemAddressReserve(&address, 2 * MIB, 0, 0, 0)))
		return;
	if (!did(cuMemMap(address, 2 * MIB, 0, handle, 0)))
		did(cuMemUnmap(address, 2 * MIB));
	did(cuMemAddressFree(address, 2 * MIB));
	did(cuMemRelease(handle));
}

static void make_array(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 10, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUarray array;

	if (!did(cuArrayCreate_v2(&array, &shape)))
		did(cuArrayDestroy(array));
}

static void launch_other_graph(void)
{
	did(cuGraphLaunch(other_exec, other_stream));
	did(cuDeviceGraphMemTrim(0));
}

/* Instantiates the graph with memory again, so that the recorder reads its nodes. */
static void instantiate_other_graph(void)
{
	did(cuGraphExecDestroy(other_exec));
	did(cuGraphInstantiateWithFlags(&other_exec, other_graph, 0));
}

static const struct action {
	const char *name;
	void (*run)(void);
} actions[] = {
	{ "capture_memory", capture_memory },
	{ "capture_by_runtime", capture_by_runtime },
	{ "capture_from_pool", capture_from_pool },
	{ "capture_after_allocation", capture_after_allocation },
	{ "capture_too_much", capture_too_much },
	{ "on_other_stream", on_other_stream },
	{ "too_much_on_other_stream", too_much_on_other_stream },
	{ "allocate", allocate },
	{ "allocate_too_much", allocate_too_much },
	{ "allocate_by_runtime", allocate_by_runtime },
	{ "allocate_host", allocate_host },
	{ "free_nothing", free_nothing },
	{ "load_code", load_code },
	{ "set_limit", set_limit },
	{ "make_context", make_context },
	{ "ask_for_memory", ask_for_memory },
	{ "make_pool", make_pool },
	{ "map_memory", map_memory },
	{ "make_array", make_array },
	{ "launch_other_graph", launch_other_graph },
	{ "instantiate_other_graph", instantiate_other_graph },
};

/*
 * --- captures
 * -------------------------------------------------------------------------------------
 */

static void *in_thread(void *action)
{
	cuCtxSetCurrent(context);
	((const struct action *)action)->run();
	return NULL;
}

static void run_in_thread(const struct action *action)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)action))
		exit(2);
	pthread_join(thread, NULL);
}

static void try_in_capture(CUstreamCaptureMode mode, int is_other_thread,
	const struct action *action)
{
	static const char *const modes[] = { "global", "thread_local", "relaxed" };
	CUstreamCaptureStatus status = 9;
	CUstreamCaptureMode mode_after = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUgraph graph = NULL;
	size_t nodes = 0;
	int end;

	result_count = 0;
	if (cuStreamBeginCapture_v2(stream, mode))
		exit(2);
	if (is_other_thread)
		run_in_thread(action);
	else
		action->run();
	cuStreamIsCapturing(stream, &status);
	end = cuStreamEndCapture(stream, &graph);
	if (graph && !cuGraphGetNodes(graph, NULL, &nodes))
		cuGraphDestroy(graph);
	/* Reads the thread's mode. This also changes the mode. */
	cuThreadExchangeStreamCaptureMode(&mode_after);
	printf("%s %s %s", modes[mode], is_other_thread ? "other" : "same", action->name);
	for (int i = 0; i < result_count; i++)
		printf("%c%d", i ? ',' : ' ', results[i]);
	printf(" %d %d %zu %d\n", (int)status, end, nodes, (int)mode_after);
	cuThreadExchangeStreamCaptureMode(&mode_after);
	cudaGetLastError();
}

static void make_other_graph(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
		.bytesize = 1700,
	};
	CUgraphNode node, end;

	if (cuGraphCreate(&other_graph, 0) ||
		cuGraphAddMemAllocNode(&node, other_graph, NULL, 0, &parameters) ||
		cuGraphAddMemFreeNode(&end, other_graph, &node, 1, parameters.dptr) ||
		cuGraphInstantiateWithFlags(&other_exec, other_graph, 0))
		exit(2);
}

int main(void)
{
	CUdeviceptr block;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
		cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
		cuStreamCreate(&other_stream, CU_STREAM_NON_BLOCKING))
		return 2;
	make_other_graph();
	for (int mode = 0; mode < 3; mode++)
		for (int is_other = 0; is_other < 2; is_other++)
			for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
				try_in_capture((CUstreamCaptureMode)mode, is_other, &actions[i]);
	/* No capture is active any more. */
	if (cuMemAllocAsync(&block, 1800, stream) || cuMemFreeAsync(block, stream))
		return 3;
	cuGraphExecDestroy(other_exec);
	cuGraphDestroy(other_graph);
	return 0;
}
