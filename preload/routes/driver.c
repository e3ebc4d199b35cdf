/* SPDX-License-Identifier: MIT */
#include "routes/driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"
#include "routes/objects.h"
#include "routes/real.h"
#include "wire/format.h"

/* The types of CUDA's headers in plain C: this file asks by pointer only. 0 is success. */
static struct {
	int (*ctx_get_device)(int *);
	int (*ctx_get_current)(void **);
	int (*ctx_push)(void *);
	int (*ctx_pop)(void **);
	int (*stream_get_context)(void *, void **);
	int (*device_count)(int *);
	int (*device_name)(char *, int, int);
	int (*device_uuid)(unsigned char *, int);
	int (*device_memory)(size_t *, int);
	int (*memory_info)(size_t *, size_t *);
	int (*exchange_capture_mode)(int *);
} ask;

/* Where the driver exports each hooked function; written once, before `state` says so. */
static void *exported[GMT_HOOK_COUNT];
static _Atomic int state; /* 0 not seen, 1 being learnt, 2 learnt */

static void find_questions(void *handle)
{
	*(void **)&ask.ctx_get_device = gmt_real_dlsym(handle, "cuCtxGetDevice");
	*(void **)&ask.ctx_get_current = gmt_real_dlsym(handle, "cuCtxGetCurrent");
	*(void **)&ask.ctx_push = gmt_real_dlsym(handle, "cuCtxPushCurrent_v2");
	*(void **)&ask.ctx_pop = gmt_real_dlsym(handle, "cuCtxPopCurrent_v2");
	*(void **)&ask.stream_get_context = gmt_real_dlsym(handle, "cuStreamGetCtx");
	*(void **)&ask.device_count = gmt_real_dlsym(handle, "cuDeviceGetCount");
	*(void **)&ask.device_name = gmt_real_dlsym(handle, "cuDeviceGetName");
	*(void **)&ask.device_memory = gmt_real_dlsym(handle, "cuDeviceTotalMem_v2");
	*(void **)&ask.memory_info = gmt_real_dlsym(handle, "cuMemGetInfo_v2");
	*(void **)&ask.exchange_capture_mode = gmt_real_dlsym(handle, "cuThreadExchangeStreamCaptureMode");
	/* _v2 (11.4) names MIG instances as nvidia-smi does. */
	*(void **)&ask.device_uuid = gmt_real_dlsym(handle, "cuDeviceGetUuid_v2");
	if (!ask.device_uuid)
		*(void **)&ask.device_uuid = gmt_real_dlsym(handle, "cuDeviceGetUuid");
}

void gmt_driver_learn(const void *function)
{
	struct gmt_object object;
	int expected = 0;

	if (atomic_load_explicit(&state, memory_order_acquire) == 2 || !gmt_object_of(function, &object) ||
		object.is_program || !gmt_path_names(object.path, "libcuda.so"))
		return;
	if (!atomic_compare_exchange_strong(&state, &expected, 1))
		return;

	/* Never closed: the pointers below stay good when the program closes its own handle. */
	void *handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle) {
		atomic_store(&state, 0);
		return;
	}
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		if (gmt_hooks[hook].library != GMT_LIBRARY_CUDA)
			continue;
		exported[hook] = gmt_real_dlsym(handle, gmt_hooks[hook].symbol);
		if (exported[hook] && !gmt_real_known(hook))
			gmt_real_set(hook, exported[hook]);
	}
	find_questions(handle);
	/* Pairs with the acquire loads of `state`. */
	atomic_store_explicit(&state, 2, memory_order_release);
}

void gmt_driver_reset_locks(void)
{
	int learning = 1;

	atomic_compare_exchange_strong(&state, &learning, 0);
}

static bool is_learnt(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == 2;
}

unsigned gmt_driver_hook_at(const void *function)
{
	for (unsigned hook = GMT_HOOK_NONE + 1; is_learnt() && hook < GMT_HOOK_COUNT; hook++)
		if (exported[hook] == function)
			return hook;
	return GMT_HOOK_NONE;
}

bool gmt_driver_exports_unhooked(const void *function)
{
	Dl_info about;

	return dladdr(function, &about) && about.dli_saddr == function && about.dli_sname &&
		gmt_hook_by_symbol(about.dli_sname) == GMT_HOOK_NONE;
}

static int current_device(void)
{
	int device;

	if (!ask.ctx_get_device || ask.ctx_get_device(&device))
		return GMT_DEVICE_UNKNOWN;
	return device;
}

/* A stream may belong to another device than the current one. */
static int device_of_stream(void *stream)
{
	void *of_stream = NULL, *current = NULL;

	if (!ask.stream_get_context || !ask.ctx_get_current || !ask.ctx_push || !ask.ctx_pop)
		return current_device();
	if (ask.stream_get_context(stream, &of_stream) || ask.ctx_get_current(&current) || of_stream == current)
		return current_device();
	if (ask.ctx_push(of_stream))
		return current_device();

	int device = current_device();
	ask.ctx_pop(&current);
	return device;
}

int gmt_driver_device(uint64_t stream)
{
	if (!is_learnt())
		return GMT_DEVICE_UNKNOWN;
	/* 1 and 2 stand for the two default streams, which are the current context's. */
	return stream <= 2 ? current_device() : device_of_stream((void *)stream);
}

bool gmt_driver_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	int mode = 2; /* CU_STREAM_CAPTURE_MODE_RELAXED: whatever the driver thinks of the question, no capture minds */
	size_t free_bytes, total_bytes;

	if (!is_learnt() || !ask.memory_info || !ask.exchange_capture_mode || current_device() != device ||
		ask.exchange_capture_mode(&mode))
		return false;

	bool answered = !ask.memory_info(&free_bytes, &total_bytes);
	ask.exchange_capture_mode(&mode);
	if (!answered)
		return false;
	*ret_free_bytes = free_bytes;
	*ret_total_bytes = total_bytes;
	return true;
}

unsigned gmt_driver_device_count(void)
{
	int count;

	if (!is_learnt() || !ask.device_count || ask.device_count(&count) || count < 0)
		return 0;
	return (unsigned)count;
}

bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info)
{
	unsigned char uuid[16];
	size_t total_bytes;

	/* A device number is its ordinal (cuDeviceGet gives back what it was asked). */
	memset(ret_info, 0, sizeof(*ret_info));
	if (!is_learnt() || !ask.device_name || !ask.device_memory)
		return false;
	if (ask.device_name(ret_info->name, sizeof(ret_info->name) - 1, (int)ordinal) ||
		ask.device_memory(&total_bytes, (int)ordinal))
		return false;
	ret_info->total_bytes = total_bytes;
	if (ask.device_uuid && !ask.device_uuid(uuid, (int)ordinal))
		snprintf(ret_info->uuid, sizeof(ret_info->uuid),
			"GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8],
			uuid[9], uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
	return true;
}
