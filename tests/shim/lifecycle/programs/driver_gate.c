/* SPDX-License-Identifier: MIT */
/* A preload behind the recorder. driver_gate_is_inside is 1 while the driver itself runs. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>

__attribute__((visibility("default"))) _Atomic int driver_gate_is_inside;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((visibility("default"))) CUresult cuMemAlloc_v2(CUdeviceptr *address,
	size_t size_bytes)
{
	static CUresult (*real)(CUdeviceptr *, size_t);

	atomic_store(&driver_gate_is_inside, 1);
	if (!real)
		*(void **)&real = next("cuMemAlloc_v2");

	CUresult result = real(address, size_bytes);
	atomic_store(&driver_gate_is_inside, 0);
	return result;
}

__attribute__((visibility("default"))) CUresult cuMemFree_v2(CUdeviceptr address)
{
	static CUresult (*real)(CUdeviceptr);

	atomic_store(&driver_gate_is_inside, 1);
	if (!real)
		*(void **)&real = next("cuMemFree_v2");

	CUresult result = real(address);
	atomic_store(&driver_gate_is_inside, 0);
	return result;
}
