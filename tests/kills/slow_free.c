/* SPDX-License-Identifier: MIT */
/*
 * Preloaded after the recorder. Delays the return of one cudaFree of killed.c for as long as the
 * file SLOW_FREE exists. The driver has freed the block, but the recorder does not know it yet. So
 * other threads may get the block's address meanwhile.
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
