/* SPDX-License-Identifier: MIT */
/* A library linked to a CUDA runtime (two_runtimes.c). */
#include <cuda_runtime_api.h>

__attribute__((visibility("default"))) int plugin_use(void);

int plugin_use(void)
{
	void *block;
	int version = -1;

	/* Only the runtime that the failing call reached keeps its error. */
	if (!cudaMalloc(NULL, 1) || !cudaGetLastError())
		return -2;
	/* The size of the block identifies the runtime in the recording. */
	if (cudaRuntimeGetVersion(&version) || cudaMalloc(&block, (size_t)version) || cudaFree(block))
		return -1;
	return version / 1000;
}
