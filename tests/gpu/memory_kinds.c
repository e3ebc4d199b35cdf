/* SPDX-License-Identifier: MIT */
/*
 * memory-kinds [BLOCK_MIB]: holds memory of every kind on device 0. Prints the device's memory in
 * use, frees a block, and prints the memory in use again. BLOCK_MIB: size of the linear block, by
 * default 256.
 */
#include "device.h"

#include "../programs/own_tasks.h"

enum { WAIT_MS = 800 }; /* the recorder queries the device a few times per second */

static CUmemAllocationProp on_device = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
};

static void query_driver(void)
{
	used_bytes_from_driver();
}

/* Waits until the recorder has measured the current state, also on a busy machine. */
static void wait_for_recorder(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	sleep_seconds(WAIT_MS / 2e3);
	if (preloaded && strstr(preloaded, "gpumemtrace"))
		wait_for_turn_of("gmt-sampler", query_driver);
}

static void print_moment(const char *moment)
{
	size_t free_bytes, total_bytes;

	CHECK(cuCtxSynchronize());
	wait_for_recorder();
	CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
	printf("moment %s %lld %zu %zu\n", moment, (long long)realtime_ns(), total_bytes - free_bytes,
		total_bytes);
	sleep_seconds(WAIT_MS / 2e3);
}

/* Holds 32 MiB of mapped memory, and 16 MiB of unmapped memory. */
static void hold_virtual(void)
{
	CUmemGenericAllocationHandle mapped, unmapped;
	CUdeviceptr address;

	CHECK(cuMemCreate(&unmapped, 16 * MIB, &on_device, 0));
	CHECK(cuMemCreate(&mapped, 32 * MIB, &on_device, 0));
	CHECK(cuMemAddressReserve(&address, 64 * MIB, 0, 0, 0));
	CHECK(cuMemMap(address, 32 * MIB, 0, mapped, 0));
	CHECK(cuMemRelease(mapped));
	printf("vmm %zu\n", 48 * MIB);
}

/* Holds 64 MiB in use and 32 MiB cached in its own pool, which keeps freed memory. */
static void hold_pool(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	cuuint64_t all = UINT64_MAX;
	CUdeviceptr used, cached;
	CUmemoryPool pool;

	CHECK(cuMemPoolCreate(&pool, &properties));
	CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	CHECK(cuMemAllocFromPoolAsync(&used, 64 * MIB, pool, NULL));
	CHECK(cuMemAllocFromPoolAsync(&cached, 32 * MIB, pool, NULL));
	CHECK(cuMemFreeAsync(cached, NULL));
	CHECK(cuCtxSynchronize());
	printf("pool_used %zu\npool_cached %zu\n", 64 * MIB, 32 * MIB);
}

/* Holds 24 MiB that a graph allocates and keeps. */
static void hold_graph(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location.type = CU_MEM_LOCATION_TYPE_DEVICE },
		.bytesize = 24 * MIB,
	};
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &parameters));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuCtxSynchronize());
	printf("graph_used %zu\n", 24 * MIB);
}

/* Holds an array of 16 MiB, which a device may pad. */
static void hold_array(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4
	};
	CUarray array;

	CHECK(cuArrayCreate(&array, &shape));
	printf("array %zu\n", 16 * MIB);
}

static void run_kernel(CUdeviceptr place)
{
	CUmodule module;
	CUfunction function;
	void *parameters[] = { &place };

	CHECK(cuModuleLoadData(&module, kernel_ptx));
	CHECK(cuModuleGetFunction(&function, module, "store"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

int main(int argument_count, char **arguments)
{
	size_t block_bytes = (argument_count > 1 ? strtoul(arguments[1], NULL, 10) : 256) * MIB, pitch;
	CUdeviceptr block, more, pitched, managed;
	void *pinned;

	use_device_0();
	CHECK(cuMemAlloc(&block, block_bytes));
	CHECK(cuMemAllocPitch(&pitched, &pitch, 4096, 4096, 4));
	printf("device %zu\n", block_bytes + pitch * 4096);
	CHECK(cuMemAllocManaged(&managed, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemHostAlloc(&pinned, 8 * MIB, 0));
	hold_virtual();
	hold_pool();
	hold_graph();
	hold_array();
	run_kernel(block);
	CHECK(cuMemAlloc(&more, block_bytes));
	print_moment("peak");
	CHECK(cuMemFree(more));
	print_moment("end");
	return 0;
}
