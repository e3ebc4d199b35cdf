/* SPDX-License-Identifier: MIT */
/*
 * captures HOW MODE SECONDS: captures streams repeatedly, while another thread does HOW. Prints the
 * number of captures, of invalidated captures, and of the other thread's rounds, and the results of
 * the thread's calls. HOW is:
 *
 * - asks: makes the queries of the recorder's thread, in relaxed capture mode as the recorder does
 * - works: allocates, is refused, makes contexts, all in relaxed mode, so that the recorder queries
 *   the device as often as it may
 * - blunders: makes the same queries in the default mode of threads, to see which ones invalidate a
 *   capture in this driver
 *
 * MODE: global, thread-local or relaxed.
 */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool done;
static atomic_int rounds;
static CUcontext context;
static CUmemoryPool pool;
static const char *how;

static struct question {
	const char *name;
	int worst;
} questions[] = {
	{ "cuMemGetInfo", 0 },
	{ "cuMemPoolGetAttribute", 0 },
	{ "cuDeviceGetGraphMemAttribute", 0 },
	{ "nvml", 0 },
	{ "cuMemAlloc", 0 },
	{ "cuCtxCreate", 0 },
};

enum { MIN_CAPTURES = 20, EACH_CONTEXT = 16, MIN_ROUNDS = 10 * EACH_CONTEXT };

enum { MEM_INFO, POOL, GRAPHS, NVML, ALLOC, CONTEXT };

static void note(int question, int result)
{
	if (result)
		questions[question].worst = result;
}

static void ask(void)
{
	size_t free_bytes, total_bytes;
	cuuint64_t bytes;

	note(MEM_INFO, cuMemGetInfo(&free_bytes, &total_bytes));
	note(POOL, cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
	note(GRAPHS, cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
	note(NVML, used_bytes_from_nvml() < 0 ? -1 : 0);
}

static void work(void)
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

static void *disturb(void *unused)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)unused;
	CHECK(cuCtxSetCurrent(context));
	if (strcmp(how, "blunders"))
		CHECK(cuThreadExchangeStreamCaptureMode(&mode));
	while (!atomic_load(&done)) {
		if (strcmp(how, "works") == 0)
			work();
		else
			ask();
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
	int captured = 0, spoilt = 0;

	if (argument_count != 4)
		return 2;
	how = arguments[1];
	context = use_device_0();
	CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	used_bytes_from_nvml();

	int64_t end_ns = realtime_ns() + (int64_t)(atof(arguments[3]) * 1e9);
	pthread_create(&thread, NULL, disturb, NULL);
	/* On a busy machine one of the two threads may not run in this time. */
	for (; realtime_ns() < end_ns || captured < MIN_CAPTURES || atomic_load(&rounds) < MIN_ROUNDS;
		captured++)
		spoilt += !capture(stream, mode_of(arguments[2]));
	atomic_store(&done, true);
	pthread_join(thread, NULL);

	printf("captures %d\nspoilt %d\nrounds %d\n", captured, spoilt, atomic_load(&rounds));
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		printf("worst %s %d\n", questions[i].name, questions[i].worst);
	return 0;
}
