/* SPDX-License-Identifier: MIT */
/*
 * The same runtime calls in a program that has the runtime inside itself, as most CUDA programs do: no
 * name of theirs can be taken over, only the driver below them. Prints what must be recorded.
 */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void made(const char *api, const char *space, size_t bytes, const void *block)
{
	printf("alloc %s %s %zu %" PRIu64 "\n", api, space, bytes, (uint64_t)block);
}

static void check(cudaError_t result)
{
	if (result != cudaSuccess) {
		fprintf(stderr, "failed: %d\n", (int)result);
		exit(1);
	}
}

int main(void)
{
	void *block;
	size_t pitch;

	check(cudaMalloc(&block, 5000));
	made("cuMemAlloc_v2", "device", 5000, block);
	check(cudaFree(block));
	printf("free cuMemFree_v2 %" PRIu64 "\n", (uint64_t)block);
	check(cudaMallocManaged(&block, 5100, 1));
	made("cuMemAllocManaged", "managed", 5100, block);
	check(cudaMallocPitch(&block, &pitch, 100, 10));
	made("cuMemAllocPitch_v2", "device", pitch * 10, block);
	check(cudaMallocHost(&block, 5200));
	made("cuMemHostAlloc", "pinned", 5200, block);
	check(cudaFreeHost(block));
	printf("free cuMemFreeHost %" PRIu64 "\n", (uint64_t)block);
	check(cudaMallocAsync(&block, 5400, NULL));
	made("cuMemAllocAsync", "pool", 5400, block);
	check(cudaFreeAsync(block, NULL));
	printf("free cuMemFreeAsync %" PRIu64 "\n", (uint64_t)block);
	return 0;
}
