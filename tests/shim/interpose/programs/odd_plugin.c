/* SPDX-License-Identifier: MIT */
/*
 * A library that is linked to a CUDA runtime and opened locally. All its functions have one form,
 * for odd_opener.c. The program decides what the constructor does (odd_host.c).
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

enum { HUGE_BITS = 55 };

EXPORT int odd_allocate(void **block, size_t bytes);
EXPORT int odd_look_up(void **block, size_t bytes);
EXPORT int odd_touch(void **block, size_t bytes);
EXPORT int odd_runtime(void **block, size_t bytes);

__attribute__((weak, visibility("default"))) void odd_while_loading(void);

__attribute__((constructor)) static void on_load(void)
{
	if (odd_while_loading)
		odd_while_loading();
}

/*
 * Ends with a tail call, if the compiler can make one. Then the return address that cudaMalloc sees
 * is not in this library.
 */
int odd_allocate(void **block, size_t bytes)
{
	return cudaMalloc(block, bytes);
}

int odd_look_up(void **block, size_t bytes)
{
	cudaError_t (*allocate)(void **, size_t) =
		(cudaError_t (*)(void **, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");

	return allocate ? (int)allocate(block, bytes) : -1;
}

/* Binds a hooked function without an event. */
int odd_touch(void **block, size_t bytes)
{
	(void)block;
	(void)bytes;
	return cudaFree(NULL) != cudaSuccess;
}

/*
 * Returns the version of the runtime that refused the request. Each runtime has its own last error.
 */
int odd_runtime(void **block, size_t bytes)
{
	int version = -1;

	(void)bytes;
	if (cudaMalloc(block, (size_t)1 << HUGE_BITS) != cudaErrorMemoryAllocation ||
		cudaGetLastError() != cudaErrorMemoryAllocation || cudaRuntimeGetVersion(&version))
		return -1;
	return version / 1000;
}
