/* SPDX-License-Identifier: MIT */
#include "driver/driver_queries.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/stages.h"
#include "driver/contexts.h"
#include "interpose/driver_library.h"
#include "interpose/originals.h"
#include "format/format.h"

/*
 * The driver's functions in plain C types, because this file does without CUDA's headers. They
 * return 0 for success.
 */
enum { CAPTURE_RELAXED = 2 }; /* CU_STREAM_CAPTURE_MODE_RELAXED */
enum { DEVICE_ORDINAL = 9 }; /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */

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
	int (*is_capturing)(void *, int *);
	int (*primary_state)(int, unsigned *, int *);
	int (*primary_retain)(void **, int);
	int (*primary_release)(int);
	int (*green_view)(void **, void *);
	int (*handle_properties)(void *, uint64_t);
	int (*default_pool)(void **, int);
	int (*address_range)(uint64_t *, size_t *, uint64_t);
	int (*pool_attribute)(void *, int, void *);
	int (*pointer_attribute)(void *, int, uint64_t);
	int (*graph_attribute)(int, int, void *);
	int (*pci_bus_id)(char *, int, int);
	struct gmt_driver_graph_functions graphs;
} api; /* NULL: the driver lacks the function */

static void find_functions(void)
{
	void *handle = gmt_driver_library();
	const struct {
		void *to;
		const char *symbol;
	} functions[] = {
		{ &api.ctx_get_device, "cuCtxGetDevice" },
		{ &api.ctx_get_current, "cuCtxGetCurrent" },
		{ &api.ctx_push, "cuCtxPushCurrent_v2" },
		{ &api.ctx_pop, "cuCtxPopCurrent_v2" },
		{ &api.stream_get_context, "cuStreamGetCtx" },
		{ &api.device_count, "cuDeviceGetCount" },
		{ &api.device_name, "cuDeviceGetName" },
		{ &api.device_memory, "cuDeviceTotalMem_v2" },
		{ &api.memory_info, "cuMemGetInfo_v2" },
		{ &api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode" },
		{ &api.is_capturing, "cuStreamIsCapturing" },
		{ &api.primary_state, "cuDevicePrimaryCtxGetState" },
		{ &api.primary_retain, "cuDevicePrimaryCtxRetain" },
		{ &api.primary_release, "cuDevicePrimaryCtxRelease_v2" },
		{ &api.green_view, "cuCtxFromGreenCtx" },
		{ &api.handle_properties, "cuMemGetAllocationPropertiesFromHandle" },
		{ &api.default_pool, "cuDeviceGetDefaultMemPool" },
		{ &api.address_range, "cuMemGetAddressRange_v2" },
		{ &api.pool_attribute, "cuMemPoolGetAttribute" },
		{ &api.pointer_attribute, "cuPointerGetAttribute" },
		{ &api.graph_attribute, "cuDeviceGetGraphMemAttribute" },
		{ &api.pci_bus_id, "cuDeviceGetPCIBusId" },
		{ &api.graphs.get_nodes, "cuGraphGetNodes" },
		{ &api.graphs.get_type, "cuGraphNodeGetType" },
		{ &api.graphs.get_alloc, "cuGraphMemAllocNodeGetParams" },
		{ &api.graphs.get_free, "cuGraphMemFreeNodeGetParams" },
		{ &api.graphs.get_child, "cuGraphChildGraphNodeGetGraph" },
		{ &api.device_uuid, "cuDeviceGetUuid" },
		/* Since CUDA 11.4. It gives MIG instances the same names as nvidia-smi. */
		{ &api.device_uuid, "cuDeviceGetUuid_v2" },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = gmt_original_dlsym(handle, functions[i].symbol);

		if (found)
			*(void **)functions[i].to = found;
	}
}

GMT_AT_STAGE(driver_found, DRIVER, find_functions);

static void restore_errno(const int *kept)
{
	errno = *kept;
}

/* Keeps errno in a function: the driver's system calls change it. */
#define KEEP_ERRNO const int kept_errno __attribute__((cleanup(restore_errno))) = errno

static int current_device(void)
{
	int device;

	if (!api.ctx_get_device || api.ctx_get_device(&device))
		return GMT_DEVICE_UNKNOWN;
	return device;
}

/* Returns the device of a stream, which may be another than the current device. */
static int device_of_stream(void *stream)
{
	void *of_stream = NULL, *current = NULL;

	if (!api.stream_get_context || !api.ctx_get_current || !api.ctx_push || !api.ctx_pop)
		return current_device();
	if (api.stream_get_context(stream, &of_stream) || api.ctx_get_current(&current) ||
		of_stream == current)
		return current_device();
	if (api.ctx_push(of_stream))
		return current_device();

	int device = current_device();
	api.ctx_pop(&current);
	return device;
}

/* Call it only when the driver is known. */
static inline uint64_t current_context(void)
{
	void *context = NULL;

	return !api.ctx_get_current || api.ctx_get_current(&context) ? 0 : (uint64_t)context;
}

/* Returns the context of a stream. Call it only when the driver is known. */
__attribute__((noinline)) static uint64_t context_of_stream(uint64_t stream)
{
	void *context = NULL;

	/* 1 and 2 are the two default streams, which belong to the current context. */
	if (stream > 2 && api.stream_get_context && !api.stream_get_context((void *)stream, &context))
		return (uint64_t)context;
	return current_context();
}

/* Returns the target of a call in a context that was not seen yet. Adds the context. */
__attribute__((noinline)) static struct gmt_driver_target target_in_new_context(uint64_t context,
	uint64_t stream)
{
	struct gmt_driver_target target = {
		.device = (int16_t)(stream <= 2 ? current_device() : device_of_stream((void *)stream)),
	};

	if (target.device >= 0)
		target.context = gmt_contexts_add(gmt_contexts_resolve_view(context), target.device, NULL);
	return target;
}

struct gmt_driver_target gmt_driver_target(uint64_t stream)
{
	KEEP_ERRNO;
	struct gmt_context known;
	uint64_t context;

	if (!gmt_driver_is_known())
		return (struct gmt_driver_target){ GMT_DEVICE_UNKNOWN, 0 };
	context = __builtin_expect(stream <= 2, 1) ? current_context() : context_of_stream(stream);
	known = gmt_contexts_find(context);
	return __builtin_expect(known.number != 0, 1)
		? (struct gmt_driver_target){ known.device, known.number }
		: target_in_new_context(context, stream);
}

bool gmt_driver_is_capturing(uint64_t stream)
{
	KEEP_ERRNO;
	int status = 0;

	return gmt_driver_is_known() && api.is_capturing &&
		!api.is_capturing((void *)stream, &status) && status;
}

bool gmt_driver_primary_is_active(int device)
{
	KEEP_ERRNO;
	unsigned flags;
	int active = 0;

	return gmt_driver_is_known() && api.primary_state &&
		!api.primary_state(device, &flags, &active) && active;
}

uint64_t gmt_driver_primary(int device)
{
	KEEP_ERRNO;
	void *context = NULL;

	if (!gmt_driver_primary_is_active(device) || !api.primary_retain || !api.primary_release ||
		api.primary_retain(&context, device))
		return 0;
	api.primary_release(device);
	return (uint64_t)context;
}

uint64_t gmt_driver_green_view(uint64_t green)
{
	KEEP_ERRNO;
	void *view = NULL;

	return gmt_driver_is_known() && api.green_view && !api.green_view(&view, (void *)green)
		? (uint64_t)view
		: 0;
}

int gmt_driver_device_of_address(uint64_t address)
{
	KEEP_ERRNO;
	int device;

	return gmt_driver_is_known() && api.pointer_attribute &&
			!api.pointer_attribute(&device, DEVICE_ORDINAL, address)
		? device
		: GMT_DEVICE_UNKNOWN;
}

int gmt_driver_device_of_handle(uint64_t handle)
{
	KEEP_ERRNO;
	enum { LOCATION_DEVICE = 1 }; /* CU_MEM_LOCATION_TYPE_DEVICE */
	/* CUmemAllocationProp, with room for the fields of newer versions. */
	struct {
		int type, handle_types, location_type, location_id;
		uint64_t more[14];
	} properties;

	return gmt_driver_is_known() && api.handle_properties &&
			!api.handle_properties(&properties, handle) &&
			properties.location_type == LOCATION_DEVICE
		? properties.location_id
		: GMT_DEVICE_UNKNOWN;
}

uint64_t gmt_driver_default_pool(int device)
{
	KEEP_ERRNO;
	int mode = CAPTURE_RELAXED;
	void *pool = NULL;

	if (!gmt_driver_is_known() || !api.default_pool || !api.exchange_capture_mode ||
		api.exchange_capture_mode(&mode))
		return 0;
	if (api.default_pool(&pool, device))
		pool = NULL;
	api.exchange_capture_mode(&mode);
	return (uint64_t)pool;
}

uint64_t gmt_driver_range_bytes(uint64_t address)
{
	KEEP_ERRNO;
	int mode = CAPTURE_RELAXED;
	uint64_t base;
	size_t size_bytes;

	if (!gmt_driver_is_known() || !api.address_range || !api.exchange_capture_mode ||
		api.exchange_capture_mode(&mode))
		return 0;
	if (api.address_range(&base, &size_bytes, address))
		size_bytes = 0;
	api.exchange_capture_mode(&mode);
	return size_bytes;
}

int16_t gmt_driver_location_of_address(uint64_t address)
{
	KEEP_ERRNO;
	/* CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST, CUDA_ERROR_INVALID_VALUE */
	enum { MEMORY_TYPE = 2, HOST = 1, INVALID_VALUE = 1 };
	int mode = CAPTURE_RELAXED, type = 0, device = 0, result;

	if (!gmt_driver_is_known() || !api.pointer_attribute || !api.exchange_capture_mode ||
		api.exchange_capture_mode(&mode))
		return GMT_DEVICE_UNKNOWN;
	result = api.pointer_attribute(&type, MEMORY_TYPE, address);
	if (!result && type != HOST)
		result = api.pointer_attribute(&device, DEVICE_ORDINAL, address);
	api.exchange_capture_mode(&mode);
	/* INVALID_VALUE: the driver did not allocate this address, so it is ordinary host memory. */
	if (result == INVALID_VALUE || (!result && type == HOST))
		return GMT_DEVICE_HOST;
	return result || device < 0 || device > INT16_MAX ? GMT_DEVICE_UNKNOWN : (int16_t)device;
}

const struct gmt_driver_graph_functions *gmt_driver_graph_functions(void)
{
	const struct gmt_driver_graph_functions *all = &api.graphs;

	return gmt_driver_is_known() && all->get_nodes && all->get_type && all->get_alloc &&
			all->get_free && all->get_child
		? all
		: NULL;
}

int gmt_driver_memory_of_current(uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	KEEP_ERRNO;
	int mode = CAPTURE_RELAXED; /* in this mode, the query never invalidates a capture */
	size_t free_bytes, total_bytes;
	int device;

	if (!gmt_driver_is_known() || !api.memory_info || !api.exchange_capture_mode)
		return GMT_DEVICE_UNKNOWN;
	device = current_device();
	if (device < 0 || api.exchange_capture_mode(&mode))
		return GMT_DEVICE_UNKNOWN;

	bool answered = !api.memory_info(&free_bytes, &total_bytes);
	api.exchange_capture_mode(&mode);
	if (!answered)
		return GMT_DEVICE_UNKNOWN;
	*ret_free_bytes = free_bytes;
	*ret_total_bytes = total_bytes;
	return device;
}

bool gmt_driver_memory_of_device(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	KEEP_ERRNO;
	return gmt_driver_is_known() && current_device() == device &&
		gmt_driver_memory_of_current(ret_free_bytes, ret_total_bytes) == device;
}

bool gmt_driver_relax_capture_mode(void)
{
	int mode = CAPTURE_RELAXED;

	return gmt_driver_is_known() && api.exchange_capture_mode && !api.exchange_capture_mode(&mode);
}

bool gmt_driver_memory_of_context(uint64_t context, uint64_t *ret_free_bytes,
	uint64_t *ret_total_bytes)
{
	size_t free_bytes, total_bytes;
	void *popped;

	if (!gmt_driver_is_known() || !api.memory_info || !api.ctx_push || !api.ctx_pop ||
		api.ctx_push((void *)context))
		return false;

	bool answered = !api.memory_info(&free_bytes, &total_bytes);
	api.ctx_pop(&popped);
	if (answered) {
		*ret_free_bytes = free_bytes;
		*ret_total_bytes = total_bytes;
	}
	return answered;
}

bool gmt_driver_pool_attributes(uint64_t pool, struct gmt_driver_pool_attributes *ret_pool)
{
	/* CU_MEMPOOL_ATTR_... */
	enum { THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH };
	void *handle = (void *)pool;

	return gmt_driver_is_known() && api.pool_attribute &&
		!api.pool_attribute(handle, RESERVED, &ret_pool->reserved_bytes) &&
		!api.pool_attribute(handle, USED, &ret_pool->used_bytes) &&
		!api.pool_attribute(handle, RESERVED_HIGH, &ret_pool->reserved_high_bytes) &&
		!api.pool_attribute(handle, USED_HIGH, &ret_pool->used_high_bytes) &&
		!api.pool_attribute(handle, THRESHOLD, &ret_pool->threshold_bytes);
}

bool gmt_driver_graph_memory(int device, uint64_t *ret_reserved_bytes, uint64_t *ret_used_bytes)
{
	enum { USED = 0, RESERVED = 2 }; /* CU_GRAPH_MEM_ATTR_... */
	uint64_t reserved_bytes, used_bytes;

	if (!gmt_driver_is_known() || !api.graph_attribute ||
		api.graph_attribute(device, RESERVED, &reserved_bytes) ||
		api.graph_attribute(device, USED, &used_bytes))
		return false;
	*ret_reserved_bytes = reserved_bytes;
	*ret_used_bytes = used_bytes;
	return true;
}

unsigned gmt_driver_device_count(void)
{
	KEEP_ERRNO;
	int count;

	if (!gmt_driver_is_known() || !api.device_count || api.device_count(&count) || count < 0)
		return 0;
	return (unsigned)count;
}

bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info)
{
	unsigned char uuid[16];
	size_t total_bytes;

	/* A device number is its ordinal (cuDeviceGet returns its argument). */
	memset(ret_info, 0, sizeof(*ret_info));
	if (!gmt_driver_is_known() || !api.device_name || !api.device_memory)
		return false;
	if (api.device_name(ret_info->name, sizeof(ret_info->name) - 1, (int)ordinal) ||
		api.device_memory(&total_bytes, (int)ordinal))
		return false;
	ret_info->total_bytes = total_bytes;
	if (api.device_uuid && !api.device_uuid(uuid, (int)ordinal))
		snprintf(ret_info->uuid, sizeof(ret_info->uuid),
			"GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0],
			uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9],
			uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
	if (!api.pci_bus_id ||
		api.pci_bus_id(ret_info->pci_bus_id, sizeof(ret_info->pci_bus_id) - 1, (int)ordinal))
		ret_info->pci_bus_id[0] = 0;
	return true;
}
