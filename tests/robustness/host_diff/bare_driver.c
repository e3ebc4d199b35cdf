/* SPDX-License-Identifier: MIT */
/*
 * A driver without locks. A signal handler may interrupt it and call it, a thread may be cancelled
 * in it, and a jump may leave it. It never returns the same address twice. bare_delay_us makes
 * cuMemAlloc wait, so that tests can interrupt it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...) \
	EXPORT int name(__VA_ARGS__); \
	int name(__VA_ARGS__)

enum { SUCCESS, INVALID_VALUE };

EXPORT _Atomic int bare_delay_us;
_Atomic int bare_delay_us;
static _Atomic uint64_t next_address = UINT64_C(0x7000000000);
static char context;

CALL(cuInit, unsigned flags)
{
	return flags ? INVALID_VALUE : SUCCESS;
}

CALL(cuDriverGetVersion, int *ret_version)
{
	*ret_version = 13000;
	return SUCCESS;
}

CALL(cuDeviceGetCount, int *ret_count)
{
	*ret_count = 1;
	return SUCCESS;
}

CALL(cuDeviceGet, int *ret_device, int ordinal)
{
	*ret_device = ordinal;
	return ordinal ? INVALID_VALUE : SUCCESS;
}

CALL(cuDeviceGetName, char *ret_name, int bytes, int device)
{
	strncpy(ret_name, "bare", (size_t)bytes);
	return device ? INVALID_VALUE : SUCCESS;
}

CALL(cuDeviceTotalMem_v2, size_t *ret_bytes, int device)
{
	*ret_bytes = (size_t)1 << 36;
	return device ? INVALID_VALUE : SUCCESS;
}

CALL(cuCtxGetCurrent, void **ret_context)
{
	*ret_context = &context;
	return SUCCESS;
}

CALL(cuCtxGetDevice, int *ret_device)
{
	*ret_device = 0;
	return SUCCESS;
}

CALL(cuMemAlloc_v2, uint64_t *ret_address, size_t bytes)
{
	int delay_us = atomic_load(&bare_delay_us);

	/* nanosleep is a cancellation point, like the ioctl of a real driver. */
	if (delay_us)
		nanosleep(&(struct timespec){ delay_us / 1000000, delay_us % 1000000 * 1000L }, NULL);
	*ret_address = atomic_fetch_add(&next_address, (bytes + 511) & ~(size_t)511);
	return SUCCESS;
}

CALL(cuMemFree_v2, uint64_t address)
{
	return address ? SUCCESS : INVALID_VALUE;
}
