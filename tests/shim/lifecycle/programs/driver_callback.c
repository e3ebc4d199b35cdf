/* SPDX-License-Identifier: MIT */
/*
 * Preloaded behind the recorder. Acts as a driver that calls the program back at the end of an
 * allocation.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) void (*driver_callback)(void);

__attribute__((visibility("default"))) CUresult cuMemAlloc_v2(CUdeviceptr *address,
	size_t size_bytes)
{
	static CUresult (*real)(CUdeviceptr *, size_t);
	CUresult result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	result = real(address, size_bytes);
	if (driver_callback)
		driver_callback();
	return result;
}
