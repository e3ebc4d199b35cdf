/* SPDX-License-Identifier: MIT */
/*
 * The wrappers of contexts, code and limits: memory that the driver takes for itself. The driver
 * does not report its size, so the recorder measures it around the call. The end of a context also
 * ends all allocations in it. The reader works that out: the event only carries the context's
 * number.
 */
#include "wrappers/wrapper.h"

#include "driver/memory_of_call.h"
#include "driver/contexts.h"

/* Records a new context, or a primary context that is seen for the first time. */
static void add_context(const struct gmt_call *call, CUresult result, uint64_t handle,
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

static void end_context(const struct gmt_call *call, CUresult result, uint64_t handle,
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
 * Returns the handle of a context that was just made. A known context with the same handle has
 * ended unseen, so it is removed first.
 */
static uint64_t replace_stale_context(CUresult result, const CUcontext *context)
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
	add_context(&call, result, replace_stale_context(result, context), device, &measure); \
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

/* Runtimes and libraries retain the context repeatedly. Only the first call makes a context. */
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
add_context(&call, result, result ? 0 : U64(*context), device, &measure);
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
	end_context(&call, result, U64(context), ended.number); \
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
	end_context(&call, result, U64(context), gmt_contexts_end(U64(context)).number);
gmt_contexts_unblock_sampler();
gmt_call_end(&call);
return result;
}

/*
 * Records the end of a primary context. It ends with its last reference, which only the driver
 * counts.
 */
static void end_primary(const struct gmt_call *call, CUresult result, CUdevice device,
	bool is_reset)
{
	uint64_t handle = gmt_contexts_primary(device);

	if (result || !handle || (!is_reset && gmt_driver_primary_is_active(device)))
		return;
	gmt_contexts_set_primary(device, 0);
	end_context(call, result, handle, gmt_contexts_end(handle).number);
}

#define END_PRIMARY(symbol, is_reset) \
	BEGIN_WRAPPER(CUDA, symbol, (CUdevice device)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_FREE); \
	gmt_contexts_block_sampler(); \
	CUresult result = original(device); \
	end_primary(&call, result, device, is_reset); \
	gmt_contexts_unblock_sampler(); \
	gmt_call_end(&call); \
	return result; \
	}

END_PRIMARY(cuDevicePrimaryCtxRelease, false)
END_PRIMARY(cuDevicePrimaryCtxRelease_v2, false)
END_PRIMARY(cuDevicePrimaryCtxReset, true)
END_PRIMARY(cuDevicePrimaryCtxReset_v2, true)

/* Records the primary context that a green context retains. The recorder may not know it yet. */
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
 * A green context shares the primary context's memory. Its end frees nothing, unless it was the
 * last to retain the primary context.
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
		end_primary(&call, result, device, false);
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

#define LOAD(symbol, parameters, arguments) \
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

LOAD(cuModuleLoad, (CUmodule * code, const char *path), (code, path))
LOAD(cuModuleLoadData, (CUmodule * code, const void *image), (code, image))
LOAD(cuModuleLoadDataEx,
	(CUmodule * code, const void *image, unsigned count, CUjit_option *options, void **values),
	(code, image, count, options, values))
LOAD(cuModuleLoadFatBinary, (CUmodule * code, const void *image), (code, image))
LOAD(cuLibraryLoadData,
	(CUlibrary * code, const void *image, CUjit_option *options, void **values, unsigned count,
		CUlibraryOption *library_options, void **library_values, unsigned library_count),
	(code, image, options, values, count, library_options, library_values, library_count))
LOAD(cuLibraryLoadFromFile,
	(CUlibrary * code, const char *path, CUjit_option *options, void **values, unsigned count,
		CUlibraryOption *library_options, void **library_values, unsigned library_count),
	(code, path, options, values, count, library_options, library_values, library_count))

#define UNLOAD(symbol, type) \
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

UNLOAD(cuModuleUnload, CUmodule)
UNLOAD(cuLibraryUnload, CUlibrary)
