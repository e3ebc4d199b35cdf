/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_STREAM_H
#define SIMCUDA_STREAM_H

/*
 * Streams and captures. A stream does its work at once, unless it is capturing: then calls add
 * nodes to the capture's graph instead, and the addresses of memory allocated there are fixed
 * although nothing is allocated yet.
 */

#include "driver.h"

struct sim_capture {
	struct sim_capture *next;
	uint64_t id;
	CUstreamCaptureMode mode;
	CUstream origin; /* the stream that began it, and that must end it */
	struct CUctx_st *context;
	const void *thread; /* who began it: the address of a thread-local variable */
	bool is_invalidated;
	bool owns_graph; /* false: captures to a graph that the caller gave */
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
 * The context in which work of this stream happens, for handles and for the special ones (null,
 * legacy, per-thread), whose context is the current one. Takes the lock itself.
 */
CUresult sim_stream_get_context(CUstream stream, struct CUctx_st **ret_context);
/* Makes a stream in a context that is live. Takes the lock itself. */
CUresult sim_stream_new(struct CUctx_st *context, unsigned int flags, int priority, CUstream *ret_stream);
/* The capture that the stream is part of; NULL when it is in none. */
struct sim_capture *sim_stream_capture(CUstream stream);
/* Not for the legacy stream, which cannot capture. */
void sim_stream_set_capture(CUstream stream, struct sim_capture *capture);
void sim_streams_leave_capture(const struct sim_capture *capture);

/* capture.c */
bool sim_stream_is_capturing(CUstream stream);
/*
 * For calls that may not happen in a captured stream: CUDA_SUCCESS if the stream captures nothing,
 * else the error, and the capture is spoilt. Takes the lock itself.
 */
CUresult sim_stream_refuse_capturing(CUstream stream);
/*
 * If the stream captures, each adds a node and returns true: do not do the work. They take the lock
 * themselves.
 */
bool sim_capture_add_copy(CUstream stream, const CUDA_MEMCPY3D *parameters);
bool sim_capture_add_fill(CUstream stream, const CUDA_MEMSET_NODE_PARAMS *parameters);
bool sim_capture_add_kernel(CUstream stream, const CUDA_KERNEL_NODE_PARAMS *parameters);
bool sim_capture_add_host_function(CUstream stream, CUhostFn function, void *argument);
/* Only for streams that capture: a node with a copy of the graph. Takes the lock itself. */
CUresult sim_capture_add_graph(CUstream stream, struct CUgraph_st *graph);
/* Only for streams that capture. The lock is held. */
CUresult sim_capture_add_allocation(CUstream stream, size_t size_bytes, struct sim_device *device,
				    CUdeviceptr *ret_address);
CUresult sim_capture_add_free(CUstream stream, CUdeviceptr address);
/* The capture of that id, if it is still going on; else NULL. */
struct sim_capture *sim_capture_find(uint64_t id);
/* Whether a stream of this context captures. */
bool sim_capture_is_active_in(const struct CUctx_st *context);
void sim_capture_invalidate_all_in(const struct CUctx_st *context);
/* Forgets the captures of a context that ends. */
void sim_captures_forget_of_context(const struct CUctx_st *context);

/* event.c: outside of any stream. Needs no lock. */
CUresult sim_event_record_now(CUevent event);

#endif
