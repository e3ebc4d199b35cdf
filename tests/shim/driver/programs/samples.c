/* SPDX-License-Identifier: MIT */
/*
 * samples HOW: a program whose device memory the recorder samples. Each new context makes the
 * recorder sample twice at once, so a loop causes thousands of samples.
 *
 *	quiet          takes memory of several kinds, then sleeps for a second and waits for a line;
 *	               prints the driver's memory numbers
 *	quiet again    the same, but sleeps for ever
 *	once           allocates one block
 *	graphs         the same as quiet, with a graph that allocates
 *	nothing        looks at the devices and allocates nothing; prints how many threads there are,
 *	               and whether NVML is loaded
 *	answers        asks for the free memory in a loop; the answer changes twice
 *	captures MODE  captures streams while another thread makes and ends contexts; prints how many
 *	               captures were spoilt
 *	pools          makes and ends pools while another thread makes and ends contexts
 *	resets LIBRARY resets the primary context again and again while another thread makes and ends
 *	               contexts; LIBRARY is libcuda.so.future; prints how many contexts the driver had
 *	               to make current, and how many of them did not exist any more
 *	fork           forks; the child tries to use the device; prints the parent's view afterwards
 *	exit, _exit    ends while contexts are made
 */
#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTEXTS = 2000, ROUNDS = 200 };

static atomic_bool done;
static atomic_int made;

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, (int)result);
	_exit(1);
}
#define CHECK(call) check(call, #call)

static CUcontext begin(CUdevice device)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	return context;
}

static void print_memory(void)
{
	size_t free_bytes, total_bytes;

	CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
	printf("%zu %zu\n", free_bytes, total_bytes);
}

static void quiet(bool again)
{
	CUdeviceptr block, async;

	begin(0);
	CHECK(cuMemAlloc(&block, 100 << 20));
	CHECK(cuMemAllocAsync(&async, 10 << 20, 0));
	do
		sleep(1);
	while (again);
	/* The test reads the recording now, and then sends a line. */
	getchar();
	print_memory();
	CHECK(cuMemFreeAsync(async, 0));
	CHECK(cuMemAlloc(&block, 1 << 20));
}

static void once(void)
{
	CUdeviceptr block;

	begin(0);
	CHECK(cuMemAlloc(&block, 1 << 20));
}

static void graphs(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location.type = CU_MEM_LOCATION_TYPE_DEVICE },
		.bytesize = 30 << 20,
	};
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	cuuint64_t reserved_bytes, used_bytes;

	begin(0);
	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &parameters));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, 0));
	CHECK(cuCtxSynchronize());
	CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved_bytes));
	CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used_bytes));
	printf("%llu %llu\n", (unsigned long long)reserved_bytes, (unsigned long long)used_bytes);
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = -2; /* . and .. */

	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	return count;
}

static void nothing(void)
{
	char name[100];
	int count;

	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&count));
	CHECK(cuDeviceGetName(name, sizeof(name), 0));
	usleep(600000);
	printf("%d %d\n", count_threads(),
		dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL);
}

static void answers(void)
{
	CUdeviceptr block;
	size_t free_bytes, total_bytes;

	begin(0);
	CHECK(cuMemAlloc(&block, 1 << 20));
	for (int i = 0; i < 10000; i++)
		CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
	CHECK(cuMemAlloc(&block, 1 << 20));
	print_memory();
}

/* Makes the recorder sample all the time. */
static void *make_contexts(void *unused)
{
	(void)unused;
	while (!atomic_load(&done)) {
		CUcontext context;

		CHECK(cuCtxCreate(&context, NULL, 0, 0));
		CHECK(cuCtxDestroy(context));
		atomic_fetch_add(&made, 1);
	}
	return NULL;
}

/* Returns whether both threads have done enough at the same time. */
static bool is_enough(int rounds)
{
	return atomic_load(&made) >= CONTEXTS && rounds >= ROUNDS;
}

static void end(pthread_t thread)
{
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}

static void captures(CUstreamCaptureMode mode)
{
	pthread_t thread;
	CUstream stream;
	CUmemoryPool pool;
	int spoilt = 0;

	begin(0);
	CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	pthread_create(&thread, NULL, make_contexts, NULL);
	for (int rounds = 0; !is_enough(rounds); rounds++) {
		CUgraph graph = NULL;
		CUdeviceptr block;

		CHECK(cuStreamBeginCapture(stream, mode));
		CHECK(cuMemAllocAsync(&block, 1 << 20, stream));
		for (int i = 0; i < 20; i++)
			sched_yield();
		CHECK(cuMemFreeAsync(block, stream));
		spoilt += cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS;
		if (graph)
			CHECK(cuGraphDestroy(graph));
	}
	end(thread);
	printf("%d\n", spoilt);
}

static void pools(void)
{
	CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
	};
	pthread_t thread;

	begin(0);
	pthread_create(&thread, NULL, make_contexts, NULL);
	for (int rounds = 0; !is_enough(rounds); rounds++) {
		CUmemoryPool some[8];

		for (int i = 0; i < 8; i++)
			CHECK(cuMemPoolCreate(&some[i], &properties));
		for (int i = 0; i < 8; i++)
			CHECK(cuMemPoolDestroy(some[i]));
	}
	end(thread);
}

static void resets(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *address;
	void (*count)(int *, int *) = (void (*)(int *, int *))dlsym(library, "future_driver_count");
	int (*find)(const char *, void **, int, cuuint64_t, int *) = (int (*)(const char *, void **,
		int, cuuint64_t, int *))dlsym(library, "cuGetProcAddress_v2");
	CUcontext context;
	CUdeviceptr block;
	pthread_t thread;
	CUresult (*reset)(CUdevice) =
		(CUresult (*)(CUdevice))dlsym(library, "cuDevicePrimaryCtxReset_v2");
	int status, pushed, refused;

	/* The recorder takes the driver of the first look-up as its driver. */
	find("cuInit", &address, 20000, 0, &status);
	begin(0);
	pthread_create(&thread, NULL, make_contexts, NULL);
	for (int rounds = 0; !is_enough(rounds); rounds++) {
		CHECK(reset(0));
		CHECK(cuDevicePrimaryCtxRelease(0));
		CHECK(cuDevicePrimaryCtxRetain(&context, 0));
		CHECK(cuCtxSetCurrent(context));
		CHECK(cuMemAlloc(&block, 1 << 20));
	}
	end(thread);
	count(&pushed, &refused);
	printf("%d %d\n", pushed, refused);
}

static void forks(void)
{
	CUdeviceptr block;
	int status;

	begin(0);
	CHECK(cuMemAlloc(&block, 1 << 20));
	usleep(300000);

	pid_t child = fork();
	if (child == 0) {
		CUresult result = cuMemAlloc(&block, 1 << 20);

		usleep(600000);
		exit(result == CUDA_ERROR_NOT_INITIALIZED && count_threads() == 2 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(cuMemAlloc(&block, 1 << 20));
	printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	print_memory();
}

static void end_in_the_middle(bool at_once)
{
	pthread_t threads[3];

	begin(0);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, make_contexts, NULL);
	usleep(20000);
	if (at_once)
		_exit(3);
	exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "quiet") == 0)
		quiet(argc == 3);
	else if (strcmp(how, "once") == 0)
		once();
	else if (strcmp(how, "graphs") == 0)
		graphs();
	else if (strcmp(how, "nothing") == 0)
		nothing();
	else if (strcmp(how, "answers") == 0)
		answers();
	else if (strcmp(how, "captures") == 0 && argc == 3)
		captures(strcmp(argv[2], "global") == 0   ? CU_STREAM_CAPTURE_MODE_GLOBAL
				: strcmp(argv[2], "relaxed") == 0 ? CU_STREAM_CAPTURE_MODE_RELAXED
												  : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	else if (strcmp(how, "pools") == 0)
		pools();
	else if (strcmp(how, "resets") == 0 && argc == 3)
		resets(argv[2]);
	else if (strcmp(how, "fork") == 0)
		forks();
	else if (strcmp(how, "exit") == 0 || strcmp(how, "_exit") == 0)
		end_in_the_middle(how[0] == '_');
	else
		return 2;
	return 0;
}
