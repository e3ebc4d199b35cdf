/* SPDX-License-Identifier: MIT */
/*
 * touchy LIBRARY: calls a driver with strict rules (touchy_driver.c) in right and in wrong ways.
 * Prints how often the driver complained, and how many calls returned with another errno than the
 * driver had set.
 */
#define __CUDA_API_VERSION_INTERNAL /* old forms too */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ERRNO = 4242 };

static void *library;
static int spoilt;

static void *find(const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s is missing\n", name);
		exit(2);
	}
	return found;
}

/* Calls `name` and checks its result. */
#define CALL(expected, name, ...) \
	do { \
		__typeof__(&name) call = (__typeof__(&name))find(#name); \
		errno = ERRNO; \
		CUresult result = call(__VA_ARGS__); \
		int after = errno; \
		if (after != ERRNO) \
			fprintf(stderr, #name ": errno %d\n", after), spoilt++; \
		if (result != (expected)) { \
			fprintf(stderr, #name ": %d\n", (int)result); \
			exit(1); \
		} \
	} while (0)

static void allocate(CUstream stream, CUmemoryPool pool)
{
	CUstream wrong = (CUstream)(void *)&spoilt;
	CUipcMemHandle handle = { { 0 } };
	CUdeviceptr address;

	CALL(CUDA_SUCCESS, cuMemAlloc_v2, &address, 256);
	CALL(CUDA_SUCCESS, cuMemFree_v2, address);
	CALL(CUDA_SUCCESS, cuMemAllocAsync, &address, 256, stream);
	CALL(CUDA_SUCCESS, cuMemFreeAsync, address, stream);
	CALL(CUDA_SUCCESS, cuMemAllocFromPoolAsync, &address, 256, pool, stream);
	CALL(CUDA_SUCCESS, cuMemFreeAsync, address, stream);
	CALL(CUDA_SUCCESS, cuIpcOpenMemHandle_v2, &address, handle, 1);
	CALL(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync, NULL, 256, wrong);
	CALL(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync, &address, 256, (CUmemoryPool)wrong,
		wrong);
	CALL(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, 0, wrong);
}

int main(int argc, char **argv)
{
	CUmemPoolProps properties = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUcontext context;
	CUmemoryPool pool;
	CUstream stream;
	CUgraph graph;
	size_t total_bytes;

	library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library)
		return 2;
	CALL(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain, &context, 0);
	CALL(CUDA_SUCCESS, cuInit, 0);
	CALL(CUDA_SUCCESS, cuDevicePrimaryCtxRetain, &context, 0);
	CALL(CUDA_SUCCESS, cuCtxCreate_v2, &context, 0, 0);
	CALL(CUDA_SUCCESS, cuCtxCreate_v2, &context, 0, 0);
	CALL(CUDA_SUCCESS, cuStreamCreate, &stream, 0);
	CALL(CUDA_SUCCESS, cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	allocate(stream, (CUmemoryPool)find("touchy_pool"));
	CALL(CUDA_SUCCESS, cuStreamEndCapture, stream, &graph);
	CALL(CUDA_SUCCESS, cuMemPoolCreate, &pool, &properties);
	allocate(stream, pool);
	CALL(CUDA_SUCCESS, cuMemGetInfo_v2, NULL, &total_bytes);
	CALL(CUDA_SUCCESS, cuMemGetInfo_v2, &total_bytes, NULL);
	printf("%d %d\n", ((int (*)(void))find("touchy_complaints"))(), spoilt);
	return 0;
}
