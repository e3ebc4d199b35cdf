/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <stdlib.h>
#include <time.h>

/*
 * Events. The time of an event is the time of its record call. The event is also complete at that
 * time.
 */

struct CUevent_st {
	struct CUctx_st *context;
	unsigned int flags;
	bool is_recorded;
	uint64_t time_ns;
	uint64_t capture_id; /* the capture in which the event was recorded; 0: no capture */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_event)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUevent_st *event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	free(event);
	return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	const struct sim_capture *capture = sim_stream_capture(stream);
	event->capture_id = capture ? capture->id : 0;
	sim_unlock();
	event->time_ns = now_ns();
	event->is_recorded = true;
	return CUDA_SUCCESS;
}

CUresult sim_event_record_now(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	event->capture_id = 0;
	event->time_ns = now_ns();
	event->is_recorded = true;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;

	/* A second stream joins a capture by waiting for one of its events. */
	sim_lock();
	struct sim_capture *joined = event->capture_id ? sim_capture_find(event->capture_id) : NULL;
	const struct sim_capture *own = sim_stream_capture(stream);
	if (joined && own && own != joined)
		result = CUDA_ERROR_STREAM_CAPTURE_MERGE;
	else if (joined && (!stream || stream == CU_STREAM_LEGACY))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	else if (joined && !own)
		sim_stream_set_capture(stream, joined);
	sim_unlock();
	return result;
}

/*
 * Checks that the event is not part of a capture. The host must not query an event that exists only
 * in a graph under construction. Such a query invalidates the capture.
 */
static CUresult check_outside_capture(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	struct sim_capture *capture = event->capture_id ? sim_capture_find(event->capture_id) : NULL;
	if (capture)
		capture->is_invalidated = true;
	sim_unlock();
	return capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
	CUresult result = sim_check_initialized();

	if (result == CUDA_SUCCESS)
		result = sim_capture_check_unsafe_call();
	return result == CUDA_SUCCESS ? check_outside_capture(event) : result;
}

CUresult cuEventSynchronize(CUevent event)
{
	CUresult result = sim_check_initialized();

	if (result == CUDA_SUCCESS)
		result = check_outside_capture(event);
	if (result == CUDA_SUCCESS) {
		sim_lock();
		sim_pools_trim();
		sim_unlock();
	}
	return result;
}

CUresult cuEventElapsedTime_v2(float *ret_milliseconds, CUevent start, CUevent end)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_milliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (!start || !end || !start->is_recorded || !end->is_recorded ||
		((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_milliseconds = (float)((double)(int64_t)(end->time_ns - start->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ret_milliseconds, CUevent start, CUevent end)
{
	return cuEventElapsedTime_v2(ret_milliseconds, start, end);
}
