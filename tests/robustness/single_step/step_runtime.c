/* SPDX-License-Identifier: MIT */
/*
 * The two functions of a CUDA runtime that the stepped program calls. They call the driver by its
 * exported names.
 */
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cudaMalloc(void **ret_address, size_t size_bytes);
EXPORTED int cudaFree(void *address);
int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes);
int cuMemFree_v2(unsigned long long address);

int cudaMalloc(void **ret_address, size_t size_bytes)
{
	unsigned long long address = 0;
	int result = cuMemAlloc_v2(&address, size_bytes);

	*ret_address = (void *)(size_t)address;
	return result;
}

int cudaFree(void *address)
{
	return cuMemFree_v2((unsigned long long)(size_t)address);
}
