/* SPDX-License-Identifier: MIT */
/*
 * The wrappers of graphs and stream captures. The recorder reads a graph's memory nodes when the
 * graph becomes executable. A launch is an event only if the graph has memory nodes. The reader
 * works out what a launch allocates and frees.
 */
#include "wrappers/wrapper.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "producer/mark.h"

_Atomic int gmt_stream_capture_count;

enum { SET_SIZE = 4096, MAX_DEPTH = 16 /* of child graphs */ };

static struct {
	/*
	 * The handles of executable graphs with memory nodes: a hash set with open addressing. 0: a
	 * free slot; 1: a removed entry
	 */
	_Atomic uint64_t with_nodes[SET_SIZE];
	_Atomic uint32_t with_nodes_count;
	_Atomic bool set_is_full; /* then every launch is an event */
	_Atomic bool has_seen_node; /* false: no graph has a memory node, so graphs are not read */
} graphs;

static uint32_t slot_of(uint64_t exec)
{
	return (uint32_t)((exec * 0x9e3779b97f4a7c15u) >> 40) % SET_SIZE;
}

static void set_add(uint64_t exec)
{
	for (uint32_t i = 0; i < SET_SIZE; i++) {
		_Atomic uint64_t *slot = &graphs.with_nodes[(slot_of(exec) + i) % SET_SIZE];
		uint64_t held = atomic_load_explicit(slot, memory_order_relaxed);

		if (held == exec)
			return;
		if (held <= 1 && atomic_compare_exchange_strong(slot, &held, exec)) {
			atomic_fetch_add_explicit(&graphs.with_nodes_count, 1, memory_order_release);
			return;
		}
	}
	atomic_store_explicit(&graphs.set_is_full, true, memory_order_release);
}

static _Atomic uint64_t *set_find(uint64_t exec)
{
	if (!atomic_load_explicit(&graphs.with_nodes_count, memory_order_acquire))
		return NULL;
	for (uint32_t i = 0; i < SET_SIZE; i++) {
		_Atomic uint64_t *slot = &graphs.with_nodes[(slot_of(exec) + i) % SET_SIZE];
		uint64_t held = atomic_load_explicit(slot, memory_order_relaxed);

		if (held == exec)
			return slot;
		if (!held)
			return NULL;
	}
	return NULL;
}

static bool has_nodes(uint64_t exec)
{
	return set_find(exec) || atomic_load_explicit(&graphs.set_is_full, memory_order_acquire);
}

static void set_remove(uint64_t exec)
{
	_Atomic uint64_t *slot = set_find(exec);

	if (slot) {
		atomic_store_explicit(slot, 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&graphs.with_nodes_count, 1, memory_order_relaxed);
	}
}

/* One graph that became executable, while the recorder reads its nodes. */
struct graph_reading {
	const struct gmt_driver_graph_functions *functions;
	const struct gmt_call *call;
	uint64_t exec;
	bool found;
};

static void add_node(struct graph_reading *reading, const struct gmt_call_details *details)
{
	reading->found = true;
	gmt_call_add(reading->call, 0, details);
}

static void read_graph(struct graph_reading *reading, CUgraph graph, int depth);

static void read_node(struct graph_reading *reading, CUgraphNode node, int depth)
{
	CUresult (*get_type)(CUgraphNode, CUgraphNodeType *) = reading->functions->get_type;
	CUresult (*get_alloc)(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *) =
		reading->functions->get_alloc;
	CUresult (*get_free)(CUgraphNode, CUdeviceptr *) = reading->functions->get_free;
	CUresult (*get_child)(CUgraphNode, CUgraph *) = reading->functions->get_child;
	CUDA_MEM_ALLOC_NODE_PARAMS parameters;
	CUdeviceptr address;
	CUgraphNodeType type;
	CUgraph child;

	if (get_type(node, &type))
		return;
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !get_alloc(node, &parameters))
		add_node(reading,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_ALLOC,
				.space = GMT_SPACE_GRAPH,
				.address = parameters.dptr,
				.size_bytes = parameters.bytesize,
				.object = reading->exec,
				.device_plus_1 = gmt_location_device_plus_1(&parameters.poolProps.location) });
	else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && !get_free(node, &address))
		add_node(reading,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_FREE,
				.space = GMT_SPACE_GRAPH,
				.address = address,
				.object = reading->exec });
	else if (type == CU_GRAPH_NODE_TYPE_GRAPH && !get_child(node, &child))
		read_graph(reading, child, depth + 1);
}

static void read_graph(struct graph_reading *reading, CUgraph graph, int depth)
{
	CUresult (*get_nodes)(CUgraph, CUgraphNode *, size_t *) = reading->functions->get_nodes;
	size_t count = 0;

	if (depth == MAX_DEPTH || get_nodes(graph, NULL, &count) || !count)
		return;

	size_t bytes = count * sizeof(CUgraphNode);
	CUgraphNode *nodes =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (nodes == MAP_FAILED)
		return;
	if (!get_nodes(graph, nodes, &count))
		for (size_t i = 0; i < count && i < bytes / sizeof(*nodes); i++)
			read_node(reading, nodes[i], depth);
	munmap(nodes, bytes);
}

/* Records that the graph is executable as `exec`, instantiated with these flags. */
static void add_executable(const struct gmt_call *call, uint64_t exec, CUgraph graph,
	uint64_t flags)
{
	struct graph_reading reading = { gmt_driver_graph_functions(), call, exec, false };
	int kept_errno = errno;

	if (!gmt_call_is_event(call) || !reading.functions ||
		!atomic_load_explicit(&graphs.has_seen_node, memory_order_acquire))
		return;
	gmt_call_add(call, 0,
		&(struct gmt_call_details){
			.kind = GMT_KIND_CREATE, .space = GMT_SPACE_GRAPH, .address = exec, .object = flags });
	read_graph(&reading, graph, 0);
	if (reading.found)
		set_add(exec);
	else
		/* The set may hold an earlier graph with this handle, which ended with its context. */
		set_remove(exec);
	errno = kept_errno;
}

#define INSTANTIATE(symbol, parameters, arguments, flags) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_CREATE); \
	CUresult result = original arguments; \
	if (!result) \
		add_executable(&call, U64(*exec), graph, flags); \
	gmt_call_end(&call); \
	return result; \
	}

INSTANTIATE(cuGraphInstantiate,
	(CUgraphExec * exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t log_bytes),
	(exec, graph, error_node, log, log_bytes), 0)
INSTANTIATE(cuGraphInstantiate_v2,
	(CUgraphExec * exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t log_bytes),
	(exec, graph, error_node, log, log_bytes), 0)
INSTANTIATE(cuGraphInstantiateWithFlags,
	(CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags), flags)
INSTANTIATE(cuGraphInstantiateWithParams,
	(CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *call_parameters),
	(exec, graph, call_parameters), call_parameters->flags)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz,
	(CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *call_parameters),
	(exec, graph, call_parameters), call_parameters->flags)

#define LAUNCH(symbol, in_stream) \
	BEGIN_WRAPPER(CUDA, symbol, (CUgraphExec exec, CUstream stream)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_LAUNCH); \
	CUresult result = original(exec, stream); \
	if (!result && has_nodes(U64(exec)) && gmt_call_is_event(&call)) \
		gmt_call_add(&call, 0, \
			&(struct gmt_call_details){ .kind = GMT_KIND_LAUNCH, \
				.space = GMT_SPACE_GRAPH, \
				.address = U64(exec), \
				.stream = in_stream }); \
	gmt_call_end(&call); \
	return result; \
	}

LAUNCH(cuGraphLaunch, U64(stream))
LAUNCH(cuGraphLaunch_ptsz, PER_THREAD(stream))

/*
 * An upload allocates no block, so it makes no event. The count of the call makes the sampler
 * measure the memory of the device's graphs again.
 */
#define UPLOAD(symbol) \
	BEGIN_WRAPPER(CUDA, symbol, (CUgraphExec exec, CUstream stream)) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_LAUNCH); \
	CUresult result = original(exec, stream); \
	gmt_call_end(&call); \
	return result; \
	}

UPLOAD(cuGraphUpload)
UPLOAD(cuGraphUpload_ptsz)

BEGIN_WRAPPER(CUDA, cuGraphExecDestroy, (CUgraphExec exec))
struct gmt_call call =
	gmt_call_begin(GMT_HOOK_cuGraphExecDestroy, GMT_CALL_DRIVER, GMT_KIND_DESTROY);
bool had_nodes = set_find(U64(exec)) != NULL;

set_remove(U64(exec));
CUresult result = original(exec);
if (result && had_nodes)
	set_add(U64(exec));
if (had_nodes && gmt_call_is_event(&call))
	gmt_call_add(&call, (uint32_t)result,
		&(struct gmt_call_details){ .kind = GMT_KIND_DESTROY,
			.space = GMT_SPACE_GRAPH,
			.address = U64(exec) });
gmt_call_end(&call);
return result;
}

/* Records a memory node that the program added by cuGraphAddNode. */
static void record_added_node(const struct gmt_call *call, CUresult result,
	const CUgraphNodeParams *parameters)
{
	if (result ||
		(parameters->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
			parameters->type != CU_GRAPH_NODE_TYPE_MEM_FREE))
		return;
	gmt_graphs_note_memory_node();
	if (!gmt_call_is_event(call))
		return;
	if (parameters->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		gmt_call_add(call, 0,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_FREE,
				.space = GMT_SPACE_GRAPH,
				.address = parameters->free.dptr });
	else
		gmt_call_add(call, 0,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_ALLOC,
				.space = GMT_SPACE_GRAPH,
				.address = parameters->alloc.dptr,
				.size_bytes = parameters->alloc.bytesize,
				.device_plus_1 =
					gmt_location_device_plus_1(&parameters->alloc.poolProps.location) });
}

#define ADD_NODE(symbol, parameters, arguments) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	struct gmt_call call = \
		gmt_call_begin(GMT_HOOK_##symbol, GMT_CALL_DRIVER, GMT_KIND_NODE_ALLOC); \
	CUresult result = original arguments; \
	record_added_node(&call, result, call_parameters); \
	gmt_call_end(&call); \
	return result; \
	}

ADD_NODE(cuGraphAddNode,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
		CUgraphNodeParams *call_parameters),
	(node, graph, dependencies, count, call_parameters))
ADD_NODE(cuGraphAddNode_v2,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies,
		const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *call_parameters),
	(node, graph, dependencies, edges, count, call_parameters))
ADD_NODE(cuGraphAddNode_v3,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies,
		const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *call_parameters),
	(node, graph, dependencies, edges, count, call_parameters))

void gmt_graphs_note_memory_node(void)
{
	atomic_store_explicit(&graphs.has_seen_node, true, memory_order_release);
}

#define BEGIN_CAPTURE(symbol, parameters, arguments) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	CUresult result = original arguments; \
	gmt_call_counts_add_shared(GMT_HOOK_##symbol); \
	if (!result) { \
		atomic_fetch_add_explicit(&gmt_stream_capture_count, 1, memory_order_relaxed); \
		gmt_mark(GMT_MARK_KIND_CAPTURE, GMT_MARK_SOURCE_RECORDER, NULL, 0, (uintptr_t)stream); \
	} \
	return result; \
	}
#define TO_GRAPH_PARAMETERS \
	(CUstream stream, CUgraph graph, const CUgraphNode *dependencies, \
		const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
#define RECAPTURE_PARAMETERS \
	(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback, \
		void *data)

BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode),
	(stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH_PARAMETERS,
	(stream, graph, dependencies, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH_PARAMETERS,
	(stream, graph, dependencies, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginRecaptureToGraph, RECAPTURE_PARAMETERS,
	(stream, mode, graph, callback, data))
BEGIN_CAPTURE(cuStreamBeginRecaptureToGraph_ptsz, RECAPTURE_PARAMETERS,
	(stream, mode, graph, callback, data))

/* An invalidated capture ends with an error, so the query decides whether the capture has ended. */
#define END_CAPTURE(symbol, in_stream) \
	BEGIN_WRAPPER(CUDA, symbol, (CUstream stream, CUgraph * graph)) \
	bool was_capturing = \
		atomic_load_explicit(&gmt_stream_capture_count, memory_order_relaxed) > 0 && \
		gmt_driver_is_capturing(in_stream); \
	CUresult result = original(stream, graph); \
	gmt_call_counts_add_shared(GMT_HOOK_##symbol); \
	if (was_capturing && !gmt_driver_is_capturing(in_stream)) { \
		atomic_fetch_sub_explicit(&gmt_stream_capture_count, 1, memory_order_relaxed); \
		gmt_mark(GMT_MARK_KIND_CAPTURED, GMT_MARK_SOURCE_RECORDER, NULL, 0, (uintptr_t)stream); \
	} \
	return result; \
	}

END_CAPTURE(cuStreamEndCapture, U64(stream))
END_CAPTURE(cuStreamEndCapture_ptsz, PER_THREAD(stream))
