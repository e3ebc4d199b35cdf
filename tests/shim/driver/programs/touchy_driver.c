/* SPDX-License-Identifier: MIT */
/*
 * libcuda.so.touchy: a driver with stricter rules than the simulated one. It counts as complaints:
 * questions about a stream that it did not make, questions about pools and addresses during a
 * capture without the relaxed mode, and contexts made current that do not exist. Each question
 * changes errno, as system calls do. Calls that make or end something do not.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS, INVALID_VALUE, NOT_INITIALIZED = 3, RELAXED = 2, DEVICE_BYTES = 1 << 30 };

static atomic_int complaints, captures;
static atomic_bool is_initialized;
static _Thread_local int capture_mode;
static char primary, second, stream, memory[1 << 16];
EXPORT char touchy_pool;
char touchy_pool;

static int complain(const char *of)
{
	fprintf(stderr, "touchy driver: %s\n", of);
	atomic_fetch_add(&complaints, 1);
	return INVALID_VALUE;
}

/* Begins a call that only asks. Sets errno, and returns whether the driver is initialized. */
static bool begin_question(void)
{
	errno = ENOTTY;
	return atomic_load(&is_initialized);
}

static bool is_stream(const void *handle)
{
	return (uintptr_t)handle <= 2 || handle == &stream;
}

static int potentially_unsafe(const char *what)
{
	return atomic_load(&captures) && capture_mode != RELAXED ? complain(what) : SUCCESS;
}

EXPORT int touchy_complaints(void);
int touchy_complaints(void)
{
	return atomic_load(&complaints);
}

#define CALL(name, ...) \
	EXPORT int name(__VA_ARGS__); \
	int name(__VA_ARGS__)

CALL(cuInit, unsigned flags)
{
	atomic_store(&is_initialized, true);
	return flags ? INVALID_VALUE : SUCCESS;
}

CALL(cuDeviceGetCount, int *ret_count)
{
	if (!begin_question())
		return NOT_INITIALIZED;
	*ret_count = 1;
	return SUCCESS;
}

CALL(cuDeviceGetName, char *ret_name, int bytes, int device)
{
	if (!begin_question())
		return NOT_INITIALIZED;
	snprintf(ret_name, (size_t)bytes, "Touchy %d", device);
	return SUCCESS;
}

CALL(cuDeviceTotalMem_v2, size_t *ret_bytes, int device)
{
	*ret_bytes = DEVICE_BYTES;
	return begin_question() && !device ? SUCCESS : INVALID_VALUE;
}

CALL(cuThreadExchangeStreamCaptureMode, int *mode)
{
	int before = capture_mode;

	if (!begin_question())
		return NOT_INITIALIZED;
	capture_mode = *mode;
	*mode = before;
	return SUCCESS;
}

CALL(cuCtxGetCurrent, void **ret_context)
{
	*ret_context = begin_question() ? &primary : NULL;
	return SUCCESS;
}

CALL(cuCtxGetDevice, int *ret_device)
{
	*ret_device = 0;
	return begin_question() ? SUCCESS : NOT_INITIALIZED;
}

CALL(cuCtxPushCurrent_v2, const void *context)
{
	begin_question();
	return context == &primary || context == &second ? SUCCESS
													 : complain("a context that is not there");
}

CALL(cuCtxPopCurrent_v2, void **ret_context)
{
	return cuCtxGetCurrent(ret_context);
}

CALL(cuStreamGetCtx, const void *handle, void **ret_context)
{
	*ret_context = &primary;
	begin_question();
	return is_stream(handle) ? SUCCESS : complain("the context of a stream that is not there");
}

CALL(cuStreamIsCapturing, const void *handle, int *ret_status)
{
	begin_question();
	*ret_status = handle == &stream && atomic_load(&captures);
	return is_stream(handle) ? SUCCESS : complain("the capture of a stream that is not there");
}

CALL(cuDevicePrimaryCtxGetState, int device, unsigned *ret_flags, int *ret_active)
{
	*ret_flags = 0;
	*ret_active = begin_question() && !device;
	return SUCCESS;
}

/*
 * Accepts a NULL pointer for one of the two answers. A call with a NULL pointer comes from the
 * program, not from the recorder. So it does not count as a question, and errno stays.
 */
CALL(cuMemGetInfo_v2, size_t *ret_free, size_t *ret_total)
{
	if (!atomic_load(&is_initialized))
		return NOT_INITIALIZED;
	if (ret_free)
		*ret_free = DEVICE_BYTES / 2;
	if (ret_total)
		*ret_total = DEVICE_BYTES;
	if (ret_free && ret_total)
		begin_question();
	return SUCCESS;
}

CALL(cuDeviceGetDefaultMemPool, const void **ret_pool, int device)
{
	begin_question();
	*ret_pool = &memory[device];
	return potentially_unsafe("the default pool, while a stream is captured");
}

CALL(cuMemGetAddressRange_v2, uint64_t *ret_base, size_t *ret_bytes, uint64_t address)
{
	begin_question();
	*ret_base = address;
	*ret_bytes = 256;
	return potentially_unsafe("the range of an address, while a stream is captured");
}

CALL(cuPointerGetAttribute, void *ret_value, int attribute, uint64_t address)
{
	begin_question();
	(void)ret_value, (void)attribute, (void)address;
	return INVALID_VALUE;
}

static int allocate(uint64_t *ret_address, size_t bytes)
{
	static atomic_size_t used;
	size_t at;

	if (!ret_address || !bytes)
		return INVALID_VALUE; /* before all other checks */
	at = atomic_fetch_add(&used, 256) % sizeof(memory);
	*ret_address = (uint64_t)(uintptr_t)&memory[at];
	return SUCCESS;
}

CALL(cuMemAlloc_v2, uint64_t *ret_address, size_t bytes)
{
	return allocate(ret_address, bytes);
}

CALL(cuMemFree_v2, uint64_t address)
{
	return address ? SUCCESS : INVALID_VALUE;
}

CALL(cuMemAllocAsync, uint64_t *ret_address, size_t bytes, const void *on)
{
	return allocate(ret_address, is_stream(on) ? bytes : 0);
}

CALL(cuMemAllocFromPoolAsync, uint64_t *ret_address, size_t bytes, const void *from, const void *on)
{
	return allocate(ret_address, from == &touchy_pool && is_stream(on) ? bytes : 0);
}

CALL(cuMemFreeAsync, uint64_t address, const void *on)
{
	return address && is_stream(on) ? SUCCESS : INVALID_VALUE;
}

/* A handle for another process's memory. Callers pass it by value, like the real handle. */
struct handle {
	char reserved[64];
};

CALL(cuIpcOpenMemHandle_v2, uint64_t *ret_address, struct handle handle, unsigned flags)
{
	(void)handle;
	return allocate(ret_address, flags);
}

CALL(cuStreamBeginCapture_v2, const void *handle, int mode)
{
	(void)mode;
	atomic_fetch_add(&captures, handle == &stream);
	return handle == &stream ? SUCCESS : INVALID_VALUE;
}

CALL(cuStreamEndCapture, const void *handle, const void **ret_graph)
{
	*ret_graph = NULL;
	atomic_fetch_sub(&captures, handle == &stream);
	return handle == &stream ? SUCCESS : INVALID_VALUE;
}

CALL(cuStreamCreate, const void **ret_stream, unsigned flags)
{
	(void)flags;
	*ret_stream = &stream;
	return SUCCESS;
}

CALL(cuMemPoolCreate, const void **ret_pool, const void *properties)
{
	(void)properties;
	*ret_pool = &touchy_pool;
	return SUCCESS;
}

CALL(cuDevicePrimaryCtxRetain, const void **ret_context, int device)
{
	if (!atomic_load(&is_initialized) || device)
		return NOT_INITIALIZED;
	*ret_context = &primary;
	return SUCCESS;
}

/* The last context may have ended without a call. */
CALL(cuCtxCreate_v2, const void **ret_context, unsigned flags, int device)
{
	(void)flags;
	*ret_context = &second;
	return device ? INVALID_VALUE : SUCCESS;
}
