/* SPDX-License-Identifier: MIT */
/*
 * Preloaded behind the recorder: one free of killed.c, when the driver has made it and the recorder
 * does not know of it, takes as long as the file SLOW_FREE is there. So the block's address is
 * given to others meanwhile.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { NUMBER = 1000 };

__attribute__((visibility("default"))) cudaError_t cudaFree(void *address)
{
	static _Atomic int frees;
	cudaError_t (*next)(void *) = (cudaError_t (*)(void *))dlsym(RTLD_NEXT, "cudaFree");
	cudaError_t result = next(address);

	if (atomic_fetch_add(&frees, 1) + 1 == NUMBER)
		while (!access(getenv("SLOW_FREE"), F_OK))
			usleep(1000);
	return result;
}
