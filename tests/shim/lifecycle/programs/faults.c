/* SPDX-License-Identifier: MIT */
/*
 * Makes calls that the device refuses. The recorder must not change the error codes, errno and the
 * runtime's last error.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdio.h>

int main(void)
{
	void *block = NULL;
	int failures = 0;

	errno = 77;
	failures += cudaMalloc(&block, (size_t)1 << 50) != cudaErrorMemoryAllocation;
	failures += cudaGetLastError() != cudaErrorMemoryAllocation;
	failures += cudaGetLastError() != cudaSuccess;
	failures += cudaFree((void *)0x1234567) == cudaSuccess;
	failures += cudaGetLastError() == cudaSuccess;
	failures += cudaMalloc(&block, 4096) != cudaSuccess;
	failures += cudaFree(NULL) != cudaSuccess;
	failures += cudaFree(block) != cudaSuccess;
	failures += cudaFree(block) == cudaSuccess;
	cudaGetLastError();
	failures += cudaMalloc(&block, 0) != cudaSuccess;
	failures += errno != 77;
	printf("%d\n", failures);
	return failures != 0;
}
