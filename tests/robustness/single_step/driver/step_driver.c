/* SPDX-License-Identifier: MIT */
/*
 * A driver without locks, memory and system calls. It appends each successful call to the log, if
 * there is one. A signal handler may call it wherever it interrupted the program. A child of a fork
 * may call it too.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../step_log.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned flags);
EXPORTED int cuDriverGetVersion(int *ret_version);
EXPORTED int cuDeviceGetCount(int *ret_count);
EXPORTED int cuDeviceGet(int *ret_device, int ordinal);
EXPORTED int cuDeviceGetName(char *ret_name, int bytes, int device);
EXPORTED int cuDeviceTotalMem_v2(size_t *ret_bytes, int device);
EXPORTED int cuCtxGetCurrent(void **ret_context);
EXPORTED int cuCtxGetDevice(int *ret_device);
EXPORTED int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes);
EXPORTED int cuMemFree_v2(unsigned long long address);

enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1 };

static struct step_log *step_log;

__attribute__((constructor)) static void open_log(void)
{
	const char *path = getenv(STEP_LOG_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory = fd < 0
		? MAP_FAILED
		: mmap(NULL, sizeof(*step_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (memory != MAP_FAILED)
		step_log = memory;
}

static struct step_call *append(void)
{
	uint32_t index = atomic_fetch_add(&step_log->call_count, 1);

	return index < STEP_CALLS ? &step_log->calls[index] : NULL;
}

/* Returns the next address when there is no log. */
static uint64_t next_address(void)
{
	static _Atomic uint64_t count;

	return STEP_FIRST_ADDRESS + (atomic_fetch_add(&count, 1) << STEP_ADDRESS_SHIFT);
}

int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes)
{
	if (size_bytes >= STEP_REFUSED_BYTES)
		return OUT_OF_MEMORY;
	if (!step_log) {
		*ret_address = next_address();
		return 0;
	}

	struct step_call *call = append();

	if (!call)
		return OUT_OF_MEMORY;
	call->pid = (uint32_t)getpid();
	call->address = STEP_FIRST_ADDRESS + ((uint64_t)(call - step_log->calls) << STEP_ADDRESS_SHIFT);
	call->size_bytes = size_bytes;
	atomic_store_explicit(&call->kind, STEP_CALL_ALLOC, memory_order_release);
	*ret_address = call->address;
	return 0;
}

int cuMemFree_v2(unsigned long long address)
{
	struct step_call *call = step_log ? append() : NULL;

	if (!step_log)
		return 0;
	if (!call)
		return INVALID_VALUE;
	call->pid = (uint32_t)getpid();
	call->address = address;
	call->size_bytes = 0;
	atomic_store_explicit(&call->kind, STEP_CALL_FREE, memory_order_release);
	return 0;
}

int cuInit(unsigned flags)
{
	return flags ? INVALID_VALUE : 0;
}

int cuDriverGetVersion(int *ret_version)
{
	*ret_version = 13000;
	return 0;
}

int cuDeviceGetCount(int *ret_count)
{
	*ret_count = 1;
	return 0;
}

int cuDeviceGet(int *ret_device, int ordinal)
{
	*ret_device = ordinal;
	return ordinal ? INVALID_VALUE : 0;
}

int cuDeviceGetName(char *ret_name, int bytes, int device)
{
	strncpy(ret_name, "Step", (size_t)bytes);
	return device ? INVALID_VALUE : 0;
}

int cuDeviceTotalMem_v2(size_t *ret_bytes, int device)
{
	*ret_bytes = (size_t)1 << 36;
	return device ? INVALID_VALUE : 0;
}

int cuCtxGetCurrent(void **ret_context)
{
	static int context;

	*ret_context = &context;
	return 0;
}

int cuCtxGetDevice(int *ret_device)
{
	*ret_device = 0;
	return 0;
}
