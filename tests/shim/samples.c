/* SPDX-License-Identifier: MIT */
/*
 * What a device's memory is while the recorder asks about it.
 *
 *   quiet             memory of several kinds; then nothing for a second; prints what the driver says
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, (int)result);
	exit(1);
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

static int quiet(void)
{
	CUdeviceptr block, async;
	size_t free_bytes, total_bytes;

	begin(0);
	CHECK(cuMemAlloc(&block, 100 << 20));
	CHECK(cuMemAllocAsync(&async, 10 << 20, 0));
	sleep(1);
	CHECK(cuMemFreeAsync(async, 0));
	CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
	printf("%zu %zu\n", free_bytes, total_bytes);
	CHECK(cuMemAlloc(&block, 1 << 20));
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "quiet") == 0)
		return quiet();
	fprintf(stderr, "usage: samples quiet\n");
	return 2;
}
