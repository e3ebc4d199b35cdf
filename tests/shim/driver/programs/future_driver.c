/* SPDX-License-Identifier: MIT */
/*
 * libcuda.so.future: the simulated driver with unknown future functions. It also counts how often
 * it has to make a context current, and how often it refuses because the context has ended.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * The simulated driver behind this library has all other functions. This reference to one of them
 * keeps the linker from dropping that library.
 */
extern int cuDeviceGetCount(int *);
EXPORT int (*future_driver_behind)(int *) = cuDeviceGetCount;

EXPORT int cuCtxPushCurrent_v2(void *context);
EXPORT int cuDevicePrimaryCtxReset_v2(int device);
EXPORT void future_driver_count(int *ret_pushed, int *ret_refused);
EXPORT int cuMemAllocFuture(void);
EXPORT int cuMemAlloc_v9(void);
EXPORT int cuMemMapFuture(void);
EXPORT int cuGetProcAddress_v2(const char *name, void **ret_address, int version,
	unsigned long long flags, int *ret_status);

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

int cuGetProcAddress_v2(const char *name, void **ret_address, int version, unsigned long long flags,
	int *ret_status)
{
	(void)version, (void)flags;
	*ret_status = 0;
	*ret_address =
		strcmp(name, "cuMemAllocFuture") == 0 ? (void *)cuMemAllocFuture : (void *)cuMemAlloc_v9;
	return 0;
}

static atomic_int pushed, refused;

static void *find_behind(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
}

int cuCtxPushCurrent_v2(void *context)
{
	static int (*real)(void *);
	int result;

	if (!real)
		real = (int (*)(void *))find_behind("cuCtxPushCurrent_v2");
	/* Waits as on a busy machine, so that the context may end meanwhile. */
	usleep(100);
	result = real(context);
	atomic_fetch_add(&pushed, 1);
	if (result)
		atomic_fetch_add(&refused, 1);
	return result;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	static int (*real)(int);

	if (!real)
		real = (int (*)(int))find_behind("cuDevicePrimaryCtxReset_v2");
	usleep(100);
	return real(device);
}

void future_driver_count(int *ret_pushed, int *ret_refused)
{
	*ret_pushed = atomic_load(&pushed);
	*ret_refused = atomic_load(&refused);
}
