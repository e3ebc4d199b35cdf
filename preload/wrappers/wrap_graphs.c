/* SPDX-License-Identifier: MIT */
/*
 * The wrappers of graphs that hold memory. The recorder reads a graph's memory nodes when the graph
 * becomes executable. A launch is an event only if the graph has such nodes, so other programs only
 * pay for a comparison. The reader works out what a launch does to memory.
 */
#include "wrappers/wrapper.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "producer/mark.h"

/*
 * Number of running stream captures. A query of a stream costs a call, so no stream is queried
 * while this is 0.
 */
_Atomic int gmt_stream_capture_count;

enum { SET_SIZE = 4096, DEPTH_MAX = 16 };

static struct {
	/*
	 * Executable graphs with memory nodes, in a hash set with open addressing. 0: a free slot; 1: a
	 * removed entry.
	 */
	_Atomic uint64_t with_nodes[SET_SIZE];
	_Atomic uint32_t with_nodes_count;
	_Atomic bool set_is_full; /* then every launch is an event */
	_Atomic bool nodes_were_seen; /* if false, no graph needs to be read */
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

/* The state of reading one graph. */
struct reader {
	const struct gmt_driver_graph_functions *functions;
	const struct gmt_call *call;
	uint64_t exec;
	bool found;
};

static void add_node(struct reader *reader, const struct gmt_call_details *details)
{
	reader->found = true;
	gmt_call_add(reader->call, 0, details);
}

static void read_graph(struct reader *reader, CUgraph graph, int depth);

static void read_node(struct reader *reader, CUgraphNode node, int depth)
{
	CUresult (*get_type)(CUgraphNode, CUgraphNodeType *) = reader->functions->get_type;
	CUresult (*get_alloc)(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *) = reader->functions->get_alloc;
	CUresult (*get_free)(CUgraphNode, CUdeviceptr *) = reader->functions->get_free;
	CUresult (*get_child)(CUgraphNode, CUgraph *) = reader->functions->get_child;
	CUDA_MEM_ALLOC_NODE_PARAMS parameters;
	CUdeviceptr address;
	CUgraphNodeType type;
	CUgraph child;

	if (get_type(node, &type))
		return;
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !get_alloc(node, &parameters))
		add_node(reader,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_ALLOC,
				.space = GMT_SPACE_GRAPH,
				.address = parameters.dptr,
				.size_bytes = parameters.bytesize,
				.object = reader->exec,
				.device_plus_1 = gmt_location_device_plus_1(&parameters.poolProps.location) });
	else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && !get_free(node, &address))
		add_node(reader,
			&(struct gmt_call_details){ .kind = GMT_KIND_NODE_FREE,
				.space = GMT_SPACE_GRAPH,
				.address = address,
				.object = reader->exec });
	else if (type == CU_GRAPH_NODE_TYPE_GRAPH && !get_child(node, &child))
		read_graph(reader, child, depth + 1);
}

static void read_graph(struct reader *reader, CUgraph graph, int depth)
{
	CUresult (*get_nodes)(CUgraph, CUgraphNode *, size_t *) = reader->functions->get_nodes;
	size_t count = 0;

	if (depth == DEPTH_MAX || get_nodes(graph, NULL, &count) || !count)
		return;

	size_t bytes = count * sizeof(CUgraphNode);
	CUgraphNode *nodes =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (nodes == MAP_FAILED)
		return;
	if (!get_nodes(graph, nodes, &count))
		for (size_t i = 0; i < count && i < bytes / sizeof(*nodes); i++)
			read_node(reader, nodes[i], depth);
	munmap(nodes, bytes);
}

/* Records that the graph is executable as `exec`, instantiated with these flags. */
static void add_executable(const struct gmt_call *call, uint64_t exec, CUgraph graph,
	uint64_t flags)
{
	struct reader reader = { gmt_driver_graph_functions(), call, exec, false };
	int kept_errno = errno;

	if (!gmt_call_is_event(call) || !reader.functions ||
		!atomic_load_explicit(&graphs.nodes_were_seen, memory_order_acquire))
		return;
	gmt_call_add(call, 0,
		&(struct gmt_call_details){
			.kind = GMT_KIND_CREATE, .space = GMT_SPACE_GRAPH, .address = exec, .object = flags });
	read_graph(&reader, graph, 0);
	if (reader.found)
		set_add(exec);
	else
		/* The set may hold an older graph with this handle, which ended with its context */
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
 * An upload allocates no block, so it makes no event. The call is counted, so the sampler measures
 * the memory of the device's graphs again.
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

/* Records a memory node that the program added to a graph explicitly. */
static void add_made_node(const struct gmt_call *call, CUresult result,
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
	add_made_node(&call, result, call_parameters); \
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
	atomic_store_explicit(&graphs.nodes_were_seen, true, memory_order_release);
}

#define CAPTURE(symbol, parameters, arguments, change) \
	BEGIN_WRAPPER(CUDA, symbol, parameters) \
	CUresult result = original arguments; \
	gmt_call_counts_add_shared(GMT_HOOK_##symbol); \
	if (!result) { \
		atomic_fetch_add_explicit(&gmt_stream_capture_count, change, memory_order_relaxed); \
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

CAPTURE(cuStreamBeginCapture, (CUstream stream), (stream), 1)
CAPTURE(cuStreamBeginCapture_ptsz, (CUstream stream), (stream), 1)
CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode), 1)
CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode),
	1)
CAPTURE(cuStreamBeginCaptureToGraph, TO_GRAPH_PARAMETERS,
	(stream, graph, dependencies, edges, count, mode), 1)
CAPTURE(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH_PARAMETERS,
	(stream, graph, dependencies, edges, count, mode), 1)
CAPTURE(cuStreamBeginRecaptureToGraph, RECAPTURE_PARAMETERS, (stream, mode, graph, callback, data),
	1)
CAPTURE(cuStreamBeginRecaptureToGraph_ptsz, RECAPTURE_PARAMETERS,
	(stream, mode, graph, callback, data), 1)

/* An invalidated capture ends with an error. Its stream no longer captures. */
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
