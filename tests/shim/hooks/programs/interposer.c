/* SPDX-License-Identifier: MIT */
/* Another preload that counts cudaMalloc, as memory savers and pool managers do. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

static int seen;

__attribute__((visibility("default"))) cudaError_t cudaMalloc(void **address, size_t size)
{
	static cudaError_t (*next)(void **, size_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
	seen++;
	return next(address, size);
}

__attribute__((destructor)) static void print_count(void)
{
	if (seen)
		printf("interposer saw %d\n", seen);
}
