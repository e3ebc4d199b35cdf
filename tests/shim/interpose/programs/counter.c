/* SPDX-License-Identifier: MIT */
/*
 * Another preload that follows CUDA's memory, written in plain C like such libraries. It has
 * functions of the runtime and the driver, and its own dlsym, which returns them. At the
 * end it prints to stderr how many calls of each kind it saw.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static unsigned runtime_calls, driver_calls, given;

typedef void *look_up_function(void *, const char *);

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);

static look_up_function *real_dlsym(void)
{
	static look_up_function *real;

	if (!real)
		real = (look_up_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!real)
		real = (look_up_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return real;
}

__attribute__((visibility("default"))) cudaError_t cudaMalloc(void **address, size_t size)
{
	static cudaError_t (*next)(void **, size_t);

	runtime_calls++;
	if (!next)
		next = (cudaError_t (*)(void **, size_t))real_dlsym()(RTLD_NEXT, "cudaMalloc");
	return next ? next(address, size) : cudaErrorUnknown;
}

static CUresult (*next_allocate)(CUdeviceptr *, size_t);
static CUresult (*next_free)(CUdeviceptr);

__attribute__((visibility("default"))) CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	driver_calls++;
	if (!next_allocate)
		next_allocate =
			(CUresult (*)(CUdeviceptr *, size_t))real_dlsym()(RTLD_NEXT, "cuMemAlloc_v2");
	return next_allocate ? next_allocate(address, size) : CUDA_ERROR_UNKNOWN;
}

__attribute__((visibility("default"))) CUresult cuMemFree_v2(CUdeviceptr address)
{
	driver_calls++;
	if (!next_free)
		next_free = (CUresult (*)(CUdeviceptr))real_dlsym()(RTLD_NEXT, "cuMemFree_v2");
	return next_free ? next_free(address) : CUDA_ERROR_UNKNOWN;
}

void *dlsym(void *handle, const char *name)
{
	void *found = real_dlsym()(handle, name);

	/* These handles can lead to this library's own function, so the result is left as it is. */
	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		return found;
	if (found && strcmp(name, "cuMemAlloc_v2") == 0) {
		given++;
		next_allocate = (CUresult (*)(CUdeviceptr *, size_t))found;
		return (void *)cuMemAlloc_v2;
	}
	if (found && strcmp(name, "cuMemFree_v2") == 0) {
		given++;
		next_free = (CUresult (*)(CUdeviceptr))found;
		return (void *)cuMemFree_v2;
	}
	return found;
}

__attribute__((destructor)) static void print_count(void)
{
	if (runtime_calls || driver_calls || given)
		fprintf(stderr, "counter: runtime %u, driver %u, given %u\n", runtime_calls, driver_calls,
			given);
}
