/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>

#include "graph.h"
#include "contexts/stream.h"

/*
 * Stream capture: which streams take part, what invalidates a capture, and the resulting graph.
 *
 * CUDA calls a function unsafe if it might synchronize implicitly. While captures that forbid it to
 * the calling thread are active, such a call fails and invalidates them. A capture in mode GLOBAL
 * forbids unsafe calls to every thread. A capture in mode THREAD_LOCAL forbids them to the thread
 * that began it. A capture in mode RELAXED forbids them to no thread. With
 * cuThreadExchangeStreamCaptureMode, a thread chooses which of these captures it obeys.
 */

static struct sim_capture *captures;
/* Captures whose context ended before they did. */
static struct sim_capture *forgotten;
/*
 * The number of captures. Calls read it without the lock, so that they cost nothing while no stream
 * captures.
 */
static atomic_uint capture_count;

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/*
 * Identifies the calling thread: the address of its thread-local variable is unique among live
 * threads.
 */
static const void *this_thread(void)
{
	return &thread_mode;
}

static bool forbids_unsafe_calls(const struct sim_capture *capture)
{
	if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
		thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (capture->thread == this_thread())
		return true;
	return capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
		thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_check_unsafe_call(void)
{
	if (atomic_load_explicit(&capture_count, memory_order_relaxed) == 0)
		return CUDA_SUCCESS;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	for (struct sim_capture *capture = captures; capture; capture = capture->next) {
		if (forbids_unsafe_calls(capture)) {
			capture->is_invalidated = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUstreamCaptureMode previous = thread_mode;
	thread_mode = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}

/* --- queries for the other files -------------------------------------------------------------- */

bool sim_stream_is_capturing(CUstream stream)
{
	return sim_stream_capture(stream) != NULL;
}

CUresult sim_stream_refuse_capturing(CUstream stream)
{
	if (atomic_load_explicit(&capture_count, memory_order_relaxed) == 0)
		return CUDA_SUCCESS;

	sim_lock();
	struct sim_capture *capture = sim_stream_capture(stream);
	if (capture)
		capture->is_invalidated = true;
	sim_unlock();
	return capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

static struct CUgraphNode_st *add_node(CUstream stream, CUgraphNodeType type)
{
	struct sim_capture *capture = sim_stream_capture(stream);

	return capture ? sim_graph_append(capture->graph, type) : NULL;
}

/*
 * If the stream captures, adds a node and returns it for the caller to fill in. The lock is then
 * held until the caller calls added().
 */
static struct CUgraphNode_st *try_to_add(CUstream stream, CUgraphNodeType type)
{
	if (atomic_load_explicit(&capture_count, memory_order_relaxed) == 0)
		return NULL;
	sim_lock();
	struct CUgraphNode_st *node = add_node(stream, type);
	if (!node)
		sim_unlock();
	return node;
}

static bool added(const struct CUgraphNode_st *node)
{
	if (node)
		sim_unlock();
	return node != NULL;
}

bool sim_capture_add_copy(CUstream stream, const CUDA_MEMCPY3D *parameters)
{
	struct CUgraphNode_st *node = try_to_add(stream, CU_GRAPH_NODE_TYPE_MEMCPY);

	if (node)
		node->copy = *parameters;
	return added(node);
}

bool sim_capture_add_fill(CUstream stream, const CUDA_MEMSET_NODE_PARAMS *parameters)
{
	struct CUgraphNode_st *node = try_to_add(stream, CU_GRAPH_NODE_TYPE_MEMSET);

	if (node)
		node->fill = *parameters;
	return added(node);
}

bool sim_capture_add_kernel(CUstream stream, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
	struct CUgraphNode_st *node = try_to_add(stream, CU_GRAPH_NODE_TYPE_KERNEL);

	if (node)
		node->kernel = *parameters;
	return added(node);
}

bool sim_capture_add_host_function(CUstream stream, CUhostFn function, void *argument)
{
	struct CUgraphNode_st *node = try_to_add(stream, CU_GRAPH_NODE_TYPE_HOST);

	if (node)
		node->host = (CUDA_HOST_NODE_PARAMS){ function, argument };
	return added(node);
}

CUresult sim_capture_add_allocation(CUstream stream, size_t size_bytes, struct sim_device *device,
	CUdeviceptr *ret_address)
{
	if (sim_stream_capture(stream)->is_invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

	struct CUgraphNode_st *node = add_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);

	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = sim_graph_node_allocates(node, size_bytes, device);
	if (result == CUDA_SUCCESS)
		*ret_address = node->memory->address;
	else
		sim_graph_remove_last(node->graph);
	return result;
}

CUresult sim_capture_add_free(CUstream stream, CUdeviceptr address)
{
	if (sim_stream_capture(stream)->is_invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

	struct CUgraphNode_st *node = add_node(stream, CU_GRAPH_NODE_TYPE_MEM_FREE);

	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = sim_graph_node_frees(node, address);
	if (result != CUDA_SUCCESS)
		sim_graph_remove_last(node->graph);
	return result;
}

CUresult sim_capture_add_graph(CUstream stream, struct CUgraph_st *graph)
{
	struct CUgraph_st **bodies = malloc(sizeof(struct CUgraph_st *));
	struct CUgraph_st *copy = bodies ? sim_graph_copy(graph, false) : NULL;
	struct CUgraphNode_st *node = NULL;

	if (copy) {
		sim_lock();
		node = add_node(stream, CU_GRAPH_NODE_TYPE_GRAPH);
		if (node) {
			bodies[0] = copy;
			copy->container = node;
			node->bodies = bodies;
			node->body_count = 1;
		}
		sim_unlock();
	}
	if (node)
		return CUDA_SUCCESS;
	free(bodies);
	if (copy)
		sim_graph_free(copy);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

struct sim_capture *sim_capture_find(uint64_t id)
{
	for (struct sim_capture *capture = captures; capture; capture = capture->next)
		if (capture->id == id)
			return capture;
	return NULL;
}

bool sim_capture_is_active_in(const struct CUctx_st *context)
{
	for (const struct sim_capture *capture = captures; capture; capture = capture->next)
		if (capture->context == context)
			return true;
	return false;
}

void sim_capture_invalidate_all_in(const struct CUctx_st *context)
{
	for (struct sim_capture *capture = captures; capture; capture = capture->next)
		if (capture->context == context)
			capture->is_invalidated = true;
}

/* --- beginning and ending a capture ----------------------------------------------------------- */

/* `graph` NULL: a new graph, which EndCapture returns to the program. */
static CUresult begin(CUstream stream, CUstreamCaptureMode mode, struct CUgraph_st *graph)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream || stream == CU_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

	struct sim_capture *capture = calloc(1, sizeof(*capture));
	struct CUgraph_st *target = graph ? graph : sim_graph_new();
	if (!capture || !target) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_lock();
	if (sim_stream_is_capturing(stream)) {
		result = CUDA_ERROR_ILLEGAL_STATE;
	} else {
		*capture = (struct sim_capture){
			.next = captures,
			.id = sim_next_id(),
			.mode = mode,
			.origin = stream,
			.context = context,
			.thread = this_thread(),
			.owns_graph = !graph,
			.graph = target,
		};
		captures = capture;
		atomic_fetch_add_explicit(&capture_count, 1, memory_order_relaxed);
		sim_stream_set_capture(stream, capture);
	}
	sim_unlock();
	if (result != CUDA_SUCCESS) {
		free(capture);
		if (!graph)
			sim_graph_free(target);
	}
	return result;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return begin(stream, mode, NULL);
}

CUresult cuStreamBeginCapture(CUstream stream)
{
	return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
	const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t dependency_count,
	CUstreamCaptureMode mode)
{
	(void)dependencies;
	(void)edges;
	(void)dependency_count;
	return graph ? begin(stream, mode, graph) : CUDA_ERROR_INVALID_VALUE;
}

static void capture_forget(struct sim_capture *capture)
{
	struct sim_capture **link = &captures;

	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	sim_streams_leave_capture(capture);
	atomic_fetch_sub_explicit(&capture_count, 1, memory_order_relaxed);
}

void sim_captures_forget_of_context(const struct CUctx_st *context)
{
	for (struct sim_capture *capture = captures, *next; capture; capture = next) {
		next = capture->next;
		if (capture->context != context)
			continue;
		/*
		 * Keeps the capture's graph: to free it would call functions of the program, which must not
		 * happen here.
		 */
		capture_forget(capture);
		capture->next = forgotten;
		forgotten = capture;
	}
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *ret_graph)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_graph)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	struct sim_capture *capture = sim_stream_capture(stream);
	if (!capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (capture->origin != stream)
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread())
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else
		capture_forget(capture);
	sim_unlock();
	if (result != CUDA_SUCCESS)
		return result;

	*ret_graph = capture->graph;
	if (capture->is_invalidated) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		*ret_graph = NULL;
		if (capture->owns_graph)
			sim_graph_free(capture->graph);
	}
	free(capture);
	return result;
}

/* --- properties of a capture ------------------------------------------------------------------ */

static CUresult get_info(CUstream stream, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
	CUgraph *ret_graph, const CUgraphNode **ret_dependencies, size_t *ret_dependency_count)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	const struct sim_capture *capture = sim_stream_capture(stream);
	*ret_status = !capture        ? CU_STREAM_CAPTURE_STATUS_NONE
		: capture->is_invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
								  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (capture && ret_id)
		*ret_id = capture->id;
	if (capture && ret_graph)
		*ret_graph = capture->graph;
	if (capture && ret_dependencies)
		*ret_dependencies = &capture->graph->last;
	if (capture && ret_dependency_count)
		*ret_dependency_count = capture->graph->last != NULL;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret_status)
{
	return get_info(stream, ret_status, NULL, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *ret_status,
	cuuint64_t *ret_id)
{
	return get_info(stream, ret_status, ret_id, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *ret_status,
	cuuint64_t *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_dependencies,
	size_t *ret_dependency_count)
{
	return get_info(stream, ret_status, ret_id, ret_graph, ret_dependencies, ret_dependency_count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *ret_status,
	cuuint64_t *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_dependencies,
	const CUgraphEdgeData **ret_edges, size_t *ret_dependency_count)
{
	if (ret_edges)
		*ret_edges = NULL;
	return get_info(stream, ret_status, ret_id, ret_graph, ret_dependencies, ret_dependency_count);
}

/*
 * In this driver, every captured node depends on the node before it. There are no dependencies to
 * update.
 */

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t count,
	unsigned int flags)
{
	CUstreamCaptureStatus status;

	(void)dependencies;
	(void)count;
	(void)flags;
	CUresult result = get_info(stream, &status, NULL, NULL, NULL, NULL);
	return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE
		? CUDA_ERROR_ILLEGAL_STATE
		: result;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
	const CUgraphEdgeData *edges, size_t count, unsigned int flags)
{
	(void)edges;
	return cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}
