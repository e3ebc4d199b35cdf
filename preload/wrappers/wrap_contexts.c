/* SPDX-License-Identifier: MIT */
/*
 * The wrappers of contexts, code and limits: memory that the driver takes for itself. The driver
 * does not report its size, so the recorder measures it around the call. The end of a context also
 * frees all allocations in it. The event has only the context's number, and the reader does the
 * rest.
 */
#include "wrappers/wrapper.h"

#include "driver/memory_of_call.h"
#include "driver/contexts.h"

/* Adds a context, and records it if it is new or the call failed. */
static void record_context(const struct gmt_call *call, CUresult result, uint64_t handle,
	CUdevice device, const struct gmt_memory_of_call *measure)
{
	bool is_new = false;
	uint16_t number = result ? 0 : gmt_contexts_add(handle, device, &is_new);

	if (gmt_call_is_event(call) && (result || is_new))
		gmt_call_add(call, (uint32_t)result,
			&(struct gmt_call_details){ .kind = GMT_KIND_ALLOC,
				.space = GMT_SPACE_CONTEXT,
				.address = handle,
				.context = number,
				.device_plus_1 = device + 1,
				.size_bytes = result ? 0 : gmt_memory_of_call_end(measure) });
}

/* Records the end of a context. */
static void record_end_of_context(const struct gmt_call *call, CUresult result, uint64_t handle,
	uint16_t number)
{
	if (gmt_call_is_event(call) && (number || result))
		gmt_call_add(call, (uint32_t)result,
			&(struct gmt_call_details){ .kind = GMT_KIND_FREE,
				.space = GMT_SPACE_CONTEXT,
				.address = handle,
				.context = number });
}

/*
 * Returns the handle of a context that was just made. Removes a known context with the same handle:
 * the recorder did not see its end.
 */
static uint64_t forget_stale_context(CUresult result, const CUcontext *context)
{
	if (result)
		return 0;
	gmt_contexts_end(U64(*context));
	return U64(*context);
}

#define CREATE_CONTEXT(symbol, parameters, arguments) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_ALLOC); \
	struct gmt_memory_of_call measure; \
	gmt_memory_of_call_begin_context(&measure, device); \
	CUresult result = original arguments; \
	call.stamp = gmt_clock_stamp(); /* the measurement follows this stamp */ \
	record_context(&call, result, forget_stale_context(result, context), device, &measure); \
	gmt_call_end(&call); \
	return result; \
	}

CREATE_CONTEXT(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device),
	(context, flags, device))
CREATE_CONTEXT(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
	(context, flags, device))
CREATE_CONTEXT(cuCtxCreate_v3,
	(CUcontext * context, CUexecAffinityParam *affinity, int count, unsigned flags,
		CUdevice device),
	(context, affinity, count, flags, device))
CREATE_CONTEXT(cuCtxCreate_v4,
	(CUcontext * context, CUctxCreateParams *call_parameters, unsigned flags, CUdevice device),
	(context, call_parameters, flags, device))

/* Runtimes and libraries retain the primary context repeatedly. Only the first call makes it. */
BEGIN_WRAPPER(CUDA, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))
struct gmt_call call =
	gmt_call_begin(GMT_HOOK_cuDevicePrimaryCtxRetain, GMT_CALL_DRIVER, GMT_KIND_ALLOC);
struct gmt_memory_of_call measure = { .device = GMT_DEVICE_UNKNOWN };

if (!gmt_contexts_primary(device))
	gmt_memory_of_call_begin_context(&measure, device);
CUresult result = original(context, device);

call.stamp = gmt_clock_stamp();
if (!result)
	gmt_contexts_set_primary(device, U64(*context));
record_context(&call, result, result ? 0 : U64(*context), device, &measure);
gmt_call_end(&call);
return result;
}

/* Removes the number before the call. After the call, the handle may belong to another context. */
#define DESTROY_CONTEXT(symbol) \
	BEGIN_WRAPPER(CUDA, symbol, (CUcontext context)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_FREE); \
	struct gmt_context ended = gmt_contexts_end(U64(context)); \
	gmt_contexts_block_sampler(); \
	CUresult result = original(context); \
	gmt_contexts_unblock_sampler(); \
	if (result) \
		gmt_contexts_restore(U64(context), &ended); \
	record_end_of_context(&call, result, U64(context), ended.number); \
	gmt_call_end(&call); \
	return result; \
	}

DESTROY_CONTEXT(cuCtxDestroy)
DESTROY_CONTEXT(cuCtxDestroy_v2)

BEGIN_WRAPPER(CUDA, cuCtxAttach, (CUcontext * context, unsigned flags))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuCtxAttach, GMT_CALL_DRIVER, GMT_KIND_ALLOC);
CUresult result = original(context, flags);

if (!result)
	gmt_contexts_attach(U64(*context));
gmt_call_end(&call);
return result;
}

BEGIN_WRAPPER(CUDA, cuCtxDetach, (CUcontext context))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuCtxDetach, GMT_CALL_DRIVER, GMT_KIND_FREE);

gmt_contexts_block_sampler();
CUresult result = original(context);
if (!result && gmt_contexts_detach(U64(context)))
	record_end_of_context(&call, result, U64(context), gmt_contexts_end(U64(context)).number);
gmt_contexts_unblock_sampler();
gmt_call_end(&call);
return result;
}

/*
 * Records the end of a primary context, if it has ended. A release ends it if that was the last
 * reference. Only the driver counts the references.
 */
static void record_end_of_primary(const struct gmt_call *call, CUresult result, CUdevice device,
	bool is_reset)
{
	uint64_t handle = gmt_contexts_primary(device);

	if (result || !handle || (!is_reset && gmt_driver_primary_is_active(device)))
		return;
	gmt_contexts_set_primary(device, 0);
	record_end_of_context(call, result, handle, gmt_contexts_end(handle).number);
}

#define RELEASE_PRIMARY(symbol, is_reset) \
	BEGIN_WRAPPER(CUDA, symbol, (CUdevice device)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_FREE); \
	gmt_contexts_block_sampler(); \
	CUresult result = original(device); \
	record_end_of_primary(&call, result, device, is_reset); \
	gmt_contexts_unblock_sampler(); \
	gmt_call_end(&call); \
	return result; \
	}

RELEASE_PRIMARY(cuDevicePrimaryCtxRelease, false)
RELEASE_PRIMARY(cuDevicePrimaryCtxRelease_v2, false)
RELEASE_PRIMARY(cuDevicePrimaryCtxReset, true)
RELEASE_PRIMARY(cuDevicePrimaryCtxReset_v2, true)

/*
 * Records the primary context that a green context retains, if the recorder does not know it yet.
 */
static void record_primary(const struct gmt_call *call, CUdevice device)
{
	uint64_t handle = gmt_contexts_primary(device) ? 0 : gmt_driver_primary(device);
	bool is_new = false;
	uint16_t number;

	if (!handle)
		return;
	gmt_contexts_set_primary(device, handle);
	number = gmt_contexts_add(handle, device, &is_new);
	if (is_new && gmt_call_is_event(call))
		gmt_call_add(call, 0,
			&(struct gmt_call_details){ .kind = GMT_KIND_ALLOC,
				.space = GMT_SPACE_CONTEXT,
				.address = handle,
				.context = number,
				.device_plus_1 = device + 1 });
}

/*
 * A green context shares the primary context's memory. The end of the green context frees nothing,
 * unless it had the last reference to the primary context.
 */
BEGIN_WRAPPER(CUDA, cuGreenCtxCreate,
	(CUgreenCtx * context, CUdevResourceDesc resources, CUdevice device, unsigned flags))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuGreenCtxCreate, GMT_CALL_DRIVER, GMT_KIND_ALLOC);
struct gmt_memory_of_call measure;

gmt_memory_of_call_begin_context(&measure, device);
CUresult result = original(context, resources, device, flags);

call.stamp = gmt_clock_stamp();
if (!result)
	record_primary(&call, device);
if (!result)
	gmt_contexts_add_view(gmt_driver_green_view(U64(*context)), device);
if (gmt_call_is_event(&call))
	gmt_call_add(&call, (uint32_t)result,
		&(struct gmt_call_details){ .kind = GMT_KIND_ALLOC,
			.space = GMT_SPACE_CONTEXT,
			.address = result ? 0 : U64(*context),
			.device_plus_1 = device + 1,
			.size_bytes = result ? 0 : gmt_memory_of_call_end(&measure) });
gmt_call_end(&call);
return result;
}

BEGIN_WRAPPER(CUDA, cuGreenCtxDestroy, (CUgreenCtx context))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuGreenCtxDestroy, GMT_CALL_DRIVER, GMT_KIND_FREE);
uint64_t view = gmt_driver_green_view(U64(context));

gmt_contexts_block_sampler();
CUresult result = original(context);
if (gmt_call_is_event(&call))
	gmt_call_add(&call, (uint32_t)result,
		&(struct gmt_call_details){ .kind = GMT_KIND_FREE,
			.space = GMT_SPACE_CONTEXT,
			.address = U64(context) });
if (!result) {
	gmt_contexts_remove_view(view);
	for (int device = 0; device < (int)gmt_driver_device_count(); device++)
		record_end_of_primary(&call, result, device, false);
}
gmt_contexts_unblock_sampler();
gmt_call_end(&call);
return result;
}

BEGIN_WRAPPER(CUDA, cuCtxSetLimit, (CUlimit limit, size_t value))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuCtxSetLimit, GMT_CALL_DRIVER, GMT_KIND_SET);
struct gmt_memory_of_call measure;

gmt_memory_of_call_begin(&measure);
CUresult result = original(limit, value);
if (gmt_call_is_event(&call))
	gmt_call_add(&call, (uint32_t)result,
		&(struct gmt_call_details){ .kind = GMT_KIND_SET,
			.space = GMT_SPACE_LIMIT,
			.address = (uint64_t)limit + 1,
			.object = value,
			.size_bytes = result ? 0 : gmt_memory_of_call_end(&measure) });
gmt_call_end(&call);
return result;
}

#define LOAD_CODE(symbol, parameters, arguments) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_ALLOC); \
	struct gmt_memory_of_call measure; \
	gmt_memory_of_call_begin(&measure); \
	CUresult result = original arguments; \
	if (gmt_call_is_event(&call)) \
		gmt_call_add(&call, (uint32_t)result, \
			&(struct gmt_call_details){ .kind = GMT_KIND_ALLOC, \
				.space = GMT_SPACE_MODULE, \
				.address = result ? 0 : U64(*code), \
				.size_bytes = result ? 0 : gmt_memory_of_call_end(&measure) }); \
	gmt_call_end(&call); \
	return result; \
	}

LOAD_CODE(cuModuleLoad, (CUmodule * code, const char *path), (code, path))
LOAD_CODE(cuModuleLoadData, (CUmodule * code, const void *image), (code, image))
LOAD_CODE(cuModuleLoadDataEx,
	(CUmodule * code, const void *image, unsigned count, CUjit_option *options, void **values),
	(code, image, count, options, values))
LOAD_CODE(cuModuleLoadFatBinary, (CUmodule * code, const void *image), (code, image))
LOAD_CODE(cuLibraryLoadData,
	(CUlibrary * code, const void *image, CUjit_option *options, void **values, unsigned count,
		CUlibraryOption *library_options, void **library_values, unsigned library_count),
	(code, image, options, values, count, library_options, library_values, library_count))
LOAD_CODE(cuLibraryLoadFromFile,
	(CUlibrary * code, const char *path, CUjit_option *options, void **values, unsigned count,
		CUlibraryOption *library_options, void **library_values, unsigned library_count),
	(code, path, options, values, count, library_options, library_values, library_count))

#define UNLOAD_CODE(symbol, type) \
	BEGIN_WRAPPER(CUDA, symbol, (type code)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_FREE); \
	CUresult result = original(code); \
	if (gmt_call_is_event(&call)) \
		gmt_call_add(&call, (uint32_t)result, \
			&(struct gmt_call_details){ \
				.kind = GMT_KIND_FREE, .space = GMT_SPACE_MODULE, .address = U64(code) }); \
	gmt_call_end(&call); \
	return result; \
	}

UNLOAD_CODE(cuModuleUnload, CUmodule)
UNLOAD_CODE(cuLibraryUnload, CUlibrary)
