/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <stdint.h>
#include <stdlib.h>

#include "green_context.h"

/*
 * Streams: handles with a context, a priority and possibly a capture. No work ever waits in a
 * stream.
 */

static struct CUstream_st *streams;
static _Thread_local struct CUstream_st thread_stream;

CUstream sim_per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

static bool is_legacy(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY;
}

/*
 * Returns the stream of a handle, also for special handles. Returns NULL for the legacy stream,
 * which has no state.
 */
static struct CUstream_st *resolve(CUstream stream)
{
	if (is_legacy(stream))
		return NULL;
	if (stream != CU_STREAM_PER_THREAD)
		return stream;
	if (thread_stream.id == 0)
		thread_stream.id = sim_next_id();
	return &thread_stream;
}

CUresult sim_stream_get_context(CUstream stream, struct CUctx_st **ret_context)
{
	if (is_legacy(stream) || stream == CU_STREAM_PER_THREAD)
		return sim_context_get_current(ret_context);
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	CUresult result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (const struct CUstream_st *live = streams; live; live = live->next) {
		if (live != stream)
			continue;
		struct CUctx_st *context = live->context;
		result = sim_context_is_live(context) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
		*ret_context = context->parent ? context->parent : context;
		break;
	}
	sim_unlock();
	return result;
}

void sim_streams_free_of_context(const struct CUctx_st *context)
{
	sim_captures_forget_of_context(context);
	for (struct CUstream_st **link = &streams; *link;) {
		struct CUstream_st *stream = *link;
		if (stream->context == context) {
			*link = stream->next;
			free(stream);
		} else {
			link = &stream->next;
		}
	}
}

struct sim_capture *sim_stream_capture(CUstream stream)
{
	const struct CUstream_st *resolved = resolve(stream);

	return resolved ? resolved->capture : NULL;
}

void sim_stream_set_capture(CUstream stream, struct sim_capture *capture)
{
	resolve(stream)->capture = capture;
}

void sim_streams_leave_capture(const struct sim_capture *capture)
{
	for (struct CUstream_st *stream = streams; stream; stream = stream->next)
		if (stream->capture == capture)
			stream->capture = NULL;
	if (thread_stream.capture == capture)
		thread_stream.capture = NULL;
}

/* --- handles ---------------------------------------------------------------------------------- */

CUresult sim_stream_new(struct CUctx_st *context, unsigned int flags, int priority,
	CUstream *ret_stream)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	sim_lock();
	stream->id = sim_next_id();
	stream->next = streams;
	streams = stream;
	sim_unlock();
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_view(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_stream || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_stream_new(context, flags, priority, ret_stream);
}

CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(ret_stream, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	CUresult result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUstream_st **link = &streams; *link; link = &(*link)->next) {
		if (*link != stream)
			continue;
		if (sim_context_is_live(stream->context)) {
			*link = stream->next;
			free(stream);
			result = CUDA_SUCCESS;
		} else {
			result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		}
		break;
	}
	sim_unlock();
	return result;
}

/* --- properties of a stream ------------------------------------------------------------------- */

/*
 * Checks a query with that output, and gets the stream with the property. For the legacy stream it
 * gets `legacy`.
 */
static CUresult get_stream(CUstream stream, const void *output,
	const struct CUstream_st **ret_stream)
{
	static const struct CUstream_st legacy = { .id = (uintptr_t)CU_STREAM_LEGACY };
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!output)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_stream = is_legacy(stream) ? &legacy : resolve(stream);
	return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream stream, int *ret_priority)
{
	const struct CUstream_st *found;
	CUresult result = get_stream(stream, ret_priority, &found);

	if (result == CUDA_SUCCESS)
		*ret_priority = found->priority;
	return result;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *ret_flags)
{
	const struct CUstream_st *found;
	CUresult result = get_stream(stream, ret_flags, &found);

	if (result == CUDA_SUCCESS)
		*ret_flags = found->flags;
	return result;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *ret_id)
{
	const struct CUstream_st *found;
	CUresult result = get_stream(stream, ret_id, &found);

	if (result == CUDA_SUCCESS)
		*ret_id = found->id;
	return result;
}

/* Gets the context of a stream, which may be a view. */
static CUresult get_view(CUstream stream, struct CUctx_st **ret_context)
{
	CUresult result = sim_stream_get_context(stream, ret_context);

	if (result != CUDA_SUCCESS)
		return result;
	if (is_legacy(stream) || stream == CU_STREAM_PER_THREAD)
		return sim_context_get_view(ret_context);
	*ret_context = stream->context;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ret_context)
{
	return ret_context ? get_view(stream, ret_context) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ret_context, CUgreenCtx *ret_green)
{
	struct CUctx_st *view;
	CUresult result = get_view(stream, &view);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_context || !ret_green)
		return CUDA_ERROR_INVALID_VALUE;
	if (view->parent && stream == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	*ret_green = sim_green_of_view(view);
	sim_unlock();
	*ret_context = view->parent ? view->parent : view;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *ret_green)
{
	struct CUctx_st *view;
	CUresult result = get_view(stream, &view);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_green)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	*ret_green = sim_green_of_view(view);
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *ret_ordinal)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_ordinal)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_ordinal = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = -5;
	return CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length_bytes,
	unsigned int flags)
{
	struct CUctx_st *context;

	(void)address;
	(void)length_bytes;
	(void)flags;
	return sim_stream_get_context(stream, &context);
}

/* --- waiting, and host functions -------------------------------------------------------------- */

/* No work is ever pending. Waiting only does what the device does at a synchronization. */
static CUresult synchronize(void)
{
	sim_lock();
	sim_pools_trim();
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result == CUDA_SUCCESS)
		result = sim_stream_refuse_capturing(stream);
	return result == CUDA_SUCCESS ? synchronize() : result;
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	return result == CUDA_SUCCESS ? sim_stream_refuse_capturing(stream) : result;
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
	CUdevice ordinal;
	CUresult result =
		context ? cuCtxGetDevice_v2(&ordinal, context) : sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (context->parent)
		context = context->parent;
	sim_lock();
	bool is_capturing = sim_capture_is_active_in(context);
	if (is_capturing)
		sim_capture_invalidate_all_in(context);
	sim_unlock();
	return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : synchronize();
}

CUresult cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *argument,
	unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!callback || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_stream_refuse_capturing(stream);
	if (result == CUDA_SUCCESS)
		callback(stream, CUDA_SUCCESS, argument);
	return result;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_capture_add_host_function(stream, function, argument))
		function(argument);
	return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute,
	CUstreamAttrValue *ret_value)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	(void)attribute;
	if (result == CUDA_SUCCESS && ret_value)
		*ret_value = (CUstreamAttrValue){ 0 };
	return result;
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
	const CUstreamAttrValue *value)
{
	struct CUctx_st *context;

	(void)attribute;
	(void)value;
	return sim_stream_get_context(stream, &context);
}

CUresult cuStreamCopyAttributes(CUstream destination, CUstream source)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(source, &context);

	return result == CUDA_SUCCESS ? sim_stream_get_context(destination, &context) : result;
}
