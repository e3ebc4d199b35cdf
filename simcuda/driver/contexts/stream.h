/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_STREAM_H
#define SIMCUDA_STREAM_H

/*
 * Streams and captures. A stream does its work at once, unless it is capturing. During a capture,
 * calls add nodes to the capture's graph instead. Memory allocated in a capture already has its
 * final address, although it is not yet allocated.
 */

#include "driver.h"

struct sim_capture {
	struct sim_capture *next;
	uint64_t id;
	CUstreamCaptureMode mode;
	CUstream origin; /* the stream that began the capture and must end it */
	struct CUctx_st *context;
	const void *thread; /* the thread that began it: the address of a thread-local variable */
	bool is_invalidated;
	bool owns_graph; /* false: the caller provided the graph */
	struct CUgraph_st *graph;
};

struct CUstream_st {
	struct CUstream_st *next;
	struct CUctx_st *context; /* may be the view of a green context */
	unsigned int flags;
	int priority;
	uint64_t id;
	struct sim_capture *capture;
};

/* stream.c */
/*
 * Gets the context in which work of this stream happens. For the special streams (null, legacy,
 * per-thread) this is the current context. Takes the lock itself.
 */
CUresult sim_stream_get_context(CUstream stream, struct CUctx_st **ret_context);
/* Makes a stream in a live context. Takes the lock itself. */
CUresult sim_stream_new(struct CUctx_st *context, unsigned int flags, int priority,
	CUstream *ret_stream);
/* Returns the capture that the stream takes part in, or NULL. */
struct sim_capture *sim_stream_capture(CUstream stream);
/* Sets the stream's capture. The legacy stream cannot capture and is not allowed here. */
void sim_stream_set_capture(CUstream stream, struct sim_capture *capture);
void sim_streams_leave_capture(const struct sim_capture *capture);

/* capture.c */
bool sim_stream_is_capturing(CUstream stream);
/*
 * Checks a call that is not allowed on a capturing stream. Returns CUDA_SUCCESS if the stream is
 * not capturing. Otherwise returns the error and invalidates the capture. Takes the lock itself.
 */
CUresult sim_stream_refuse_capturing(CUstream stream);
/*
 * If the stream captures, each of these functions adds a node and returns true; the caller then
 * does not do the work. They take the lock themselves.
 */
bool sim_capture_add_copy(CUstream stream, const CUDA_MEMCPY3D *parameters);
bool sim_capture_add_fill(CUstream stream, const CUDA_MEMSET_NODE_PARAMS *parameters);
bool sim_capture_add_kernel(CUstream stream, const CUDA_KERNEL_NODE_PARAMS *parameters);
bool sim_capture_add_host_function(CUstream stream, CUhostFn function, void *argument);
/* Adds a node with a copy of the graph. The stream must be capturing. Takes the lock itself. */
CUresult sim_capture_add_graph(CUstream stream, struct CUgraph_st *graph);
/* Adds an allocation node. The stream must be capturing. The caller holds the lock. */
CUresult sim_capture_add_allocation(CUstream stream, size_t size_bytes, struct sim_device *device,
	CUdeviceptr *ret_address);
CUresult sim_capture_add_free(CUstream stream, CUdeviceptr address);
/* Returns the capture with that id if it is still active, otherwise NULL. */
struct sim_capture *sim_capture_find(uint64_t id);
/* Returns whether a stream of this context is capturing. */
bool sim_capture_is_active_in(const struct CUctx_st *context);
void sim_capture_invalidate_all_in(const struct CUctx_st *context);
/* Removes the captures of a context that ends; keeps their graphs. */
void sim_captures_forget_of_context(const struct CUctx_st *context);

/* event.c: Records the event outside any stream. Needs no lock. */
CUresult sim_event_record_now(CUevent event);

#endif
