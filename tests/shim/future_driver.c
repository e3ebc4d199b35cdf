/* SPDX-License-Identifier: MIT */
/* libcuda.so.future: the simulated driver, and functions that nobody knows yet. */
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* All other functions are found there; one that is referred to keeps the linker from dropping it. */
extern int cuDeviceGetCount(int *);
EXPORT int (*future_driver_behind)(int *) = cuDeviceGetCount;

EXPORT int cuMemAllocFuture(void);
EXPORT int cuMemAlloc_v9(void);
EXPORT int cuMemMapFuture(void);
EXPORT int cuGetProcAddress_v2(const char *name, void **ret_address, int version, unsigned long long flags, int *ret_status);

int cuMemAllocFuture(void)
{
	return 77;
}

int cuMemAlloc_v9(void)
{
	return 78;
}

int cuMemMapFuture(void)
{
	return 79;
}

int cuGetProcAddress_v2(const char *name, void **ret_address, int version, unsigned long long flags, int *ret_status)
{
	(void)version, (void)flags;
	*ret_status = 0;
	*ret_address = strcmp(name, "cuMemAllocFuture") == 0 ? (void *)cuMemAllocFuture : (void *)cuMemAlloc_v9;
	return 0;
}
