/* SPDX-License-Identifier: MIT */
/*
 * stream-captures CALLS MODE SECONDS: captures streams repeatedly, while another thread makes
 * calls. Prints the number of captures, of invalidated captures ("spoilt"), and of the thread's
 * rounds of calls, and the worst result of each call. CALLS is:
 *
 * - queries: the queries of the recorder's thread, in relaxed capture mode as in the recorder
 * - allocations: allocations, refused requests and new contexts, in relaxed capture mode. They make
 *   the recorder query the device as often as it may
 * - queries-in-default-mode: the queries in the default capture mode of threads. This shows which
 *   queries invalidate a capture in this driver
 *
 * MODE: the capture mode of the streams: global, thread-local or relaxed.
 */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool done;
static atomic_int rounds;
static CUcontext context;
static CUmemoryPool pool;
static const char *calls;

static struct call {
	const char *name;
	int worst_result;
} call_results[] = {
	{ "cuMemGetInfo", 0 },
	{ "cuMemPoolGetAttribute", 0 },
	{ "cuDeviceGetGraphMemAttribute", 0 },
	{ "nvml", 0 },
	{ "cuMemAlloc", 0 },
	{ "cuCtxCreate", 0 },
};

enum { MIN_CAPTURES = 20, EACH_CONTEXT = 16, MIN_ROUNDS = 10 * EACH_CONTEXT };

enum { MEM_INFO, POOL, GRAPHS, NVML, ALLOC, CONTEXT };

static void note(int call, int result)
{
	if (result)
		call_results[call].worst_result = result;
}

static void make_queries(void)
{
	size_t free_bytes, total_bytes;
	cuuint64_t bytes;

	note(MEM_INFO, cuMemGetInfo(&free_bytes, &total_bytes));
	note(POOL, cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
	note(GRAPHS, cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
	note(NVML, used_bytes_from_nvml() < 0 ? -1 : 0);
}

static void make_allocations(void)
{
	CUdeviceptr block = 0, refused;
	CUcontext other = NULL;

	note(ALLOC, cuMemAlloc(&block, MIB));
	/* After a refusal the recorder immediately queries the free memory. */
	if (cuMemAlloc(&refused, (size_t)1 << 50) == CUDA_SUCCESS)
		cuMemFree(refused);
	if (block)
		note(ALLOC, cuMemFree(block));
	if (atomic_load(&rounds) % EACH_CONTEXT)
		return;
	/* The recorder queries the device before and after this call. */
#if CUDA_VERSION >= 13000
	note(CONTEXT, cuCtxCreate(&other, NULL, 0, 0));
#else
	note(CONTEXT, cuCtxCreate(&other, 0, 0));
#endif
	if (other)
		note(CONTEXT, cuCtxDestroy(other));
	cuCtxSetCurrent(context);
}

static void *make_calls(void *unused)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)unused;
	CHECK(cuCtxSetCurrent(context));
	if (strcmp(calls, "queries-in-default-mode"))
		CHECK(cuThreadExchangeStreamCaptureMode(&mode));
	while (!atomic_load(&done)) {
		if (strcmp(calls, "allocations") == 0)
			make_allocations();
		else
			make_queries();
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

/* Captures an allocation. Returns whether the capture ends successfully. */
static bool capture(CUstream stream, CUstreamCaptureMode mode)
{
	CUgraph graph = NULL;
	CUdeviceptr block = 0;
	CUresult result;

	CHECK(cuStreamBeginCapture(stream, mode));
	result = cuMemAllocAsync(&block, MIB, stream);
	sleep_seconds(0.002);
	if (result == CUDA_SUCCESS)
		result = cuMemFreeAsync(block, stream);

	CUresult end = cuStreamEndCapture(stream, &graph);
	if (graph)
		CHECK(cuGraphDestroy(graph));
	return result == CUDA_SUCCESS && end == CUDA_SUCCESS;
}

static CUstreamCaptureMode mode_of(const char *name)
{
	if (strcmp(name, "relaxed") == 0)
		return CU_STREAM_CAPTURE_MODE_RELAXED;
	return strcmp(name, "global") == 0 ? CU_STREAM_CAPTURE_MODE_GLOBAL
									   : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
}

int main(int argument_count, char **arguments)
{
	CUstream stream;
	pthread_t thread;
	int captured = 0, invalidated = 0;

	if (argument_count != 4)
		return 2;
	calls = arguments[1];
	context = use_device_0();
	CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	used_bytes_from_nvml();

	int64_t end_ns = realtime_ns() + (int64_t)(atof(arguments[3]) * 1e9);
	pthread_create(&thread, NULL, make_calls, NULL);
	/* On a busy machine one of the two threads may not run in this time. */
	for (; realtime_ns() < end_ns || captured < MIN_CAPTURES || atomic_load(&rounds) < MIN_ROUNDS;
		captured++)
		invalidated += !capture(stream, mode_of(arguments[2]));
	atomic_store(&done, true);
	pthread_join(thread, NULL);

	printf("captures %d\nspoilt %d\nrounds %d\n", captured, invalidated, atomic_load(&rounds));
	for (size_t i = 0; i < sizeof(call_results) / sizeof(*call_results); i++)
		printf("worst %s %d\n", call_results[i].name, call_results[i].worst_result);
	return 0;
}
