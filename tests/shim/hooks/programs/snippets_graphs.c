/* SPDX-License-Identifier: MIT */
/* Graphs with memory, and captures that make graphs. See snippets.h. */
#include "snippets.h"

static CUDA_MEM_ALLOC_NODE_PARAMS node_of(size_t size_bytes)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
		.bytesize = size_bytes,
	};
}

static CUgraph make_graph(void)
{
	CUgraph graph = NULL;

	OK(D(cuGraphCreate)(&graph, 0));
	return graph;
}

static CUgraphNode add_alloc(CUgraph graph, size_t size_bytes, CUdeviceptr *ret_block)
{
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = node_of(size_bytes);
	CUgraphNode node = NULL;

	OK(D(cuGraphAddMemAllocNode)(&node, graph, NULL, 0, &parameters));
	SAW(node_alloc, graph, .api = "cuGraphAddMemAllocNode", .address = parameters.dptr,
		.size = size_bytes);
	*ret_block = parameters.dptr;
	return node;
}

CUdeviceptr add_nodes(CUgraph graph, size_t size_bytes, int is_freed)
{
	CUdeviceptr block;
	CUgraphNode node = add_alloc(graph, size_bytes, &block), end;

	if (is_freed) {
		OK(D(cuGraphAddMemFreeNode)(&end, graph, &node, 1, block));
		SAW(node_free, graph, .api = "cuGraphAddMemFreeNode", .address = block);
	}
	return block;
}

/* Expects the events of an instantiation, when the recorder reads the nodes of the graph. */
void saw_executable(const char *api, CUgraphExec exec, unsigned long long flags, CUdeviceptr block,
	size_t size_bytes)
{
	SAW(create, graph, .api = api, .address = N(exec), .object = flags);
	SAW(node_alloc, graph, .api = api, .address = block, .size = size_bytes, .object = N(exec));
	SAW(node_free, graph, .api = api, .address = block, .object = N(exec));
}

CUgraphExec make_executable(CUgraph *ret_graph, int is_freed)
{
	CUgraph graph = make_graph();
	CUdeviceptr block = add_nodes(graph, 9000, is_freed);
	CUgraphExec exec = NULL;

	OK(D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	saw_executable("cuGraphInstantiateWithFlags", exec, 0, block, 9000);
	*ret_graph = graph;
	return exec;
}

void destroy_executable(CUgraphExec exec, CUgraph graph)
{
	OK(D(cuGraphExecDestroy)(exec));
	SAW(destroy, graph, .api = "cuGraphExecDestroy", .address = N(exec));
	OK(D(cuGraphDestroy)(graph));
}

/*
 * --- nodes
 * ----------------------------------------------------------------------------------------
 */

SNIPPET(cuGraphAddMemAllocNode)
{
	CUgraph graph = make_graph();
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = node_of(9100);
	CUgraphNode node;

	OK(call(&node, graph, NULL, 0, &parameters));
	SAW(node_alloc, graph, .address = parameters.dptr, .size = 9100);
	parameters = node_of(9101);
	parameters.poolProps.location.id = 1;
	OK(call(&node, graph, NULL, 0, &parameters));
	SAW(node_alloc, graph, .address = parameters.dptr, .size = 9101, .device = 1);
	OK(D(cuGraphDestroy)(graph));
}

SNIPPET(cuGraphAddMemFreeNode)
{
	CUgraph graph = make_graph();
	CUdeviceptr block;
	CUgraphNode node = add_alloc(graph, 9200, &block), end;

	OK(call(&end, graph, &node, 1, block));
	SAW(node_free, graph, .address = block);
	OK(D(cuGraphDestroy)(graph));
}

/* Adds an allocation node, its free node, and a node without memory. */
#define ADD_NODES(size_bytes, first, second, third) \
	CUgraph graph = make_graph(); \
	CUgraphNodeParams parameters = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, \
		.alloc = { .poolProps = node_of(0).poolProps, .bytesize = size_bytes } }; \
	CUgraphNodeParams end = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE }, \
					  empty = { .type = CU_GRAPH_NODE_TYPE_EMPTY }; \
	CUgraphNode node, after; \
	OK(call first); \
	SAW(node_alloc, graph, .address = parameters.alloc.dptr, .size = size_bytes); \
	end.free.dptr = parameters.alloc.dptr; \
	OK(call second); \
	SAW(node_free, graph, .address = end.free.dptr); \
	OK(call third); \
	OK(D(cuGraphDestroy)(graph));

SNIPPET(cuGraphAddNode){ ADD_NODES(9300, (&node, graph, NULL, 0, &parameters),
	(&after, graph, &node, 1, &end), (&after, graph, NULL, 0, &empty)) }

SNIPPET(cuGraphAddNode_v2){ ADD_NODES(9310, (&node, graph, NULL, NULL, 0, &parameters),
	(&after, graph, &node, NULL, 1, &end), (&after, graph, NULL, NULL, 0, &empty)) }

SNIPPET(cuGraphAddNode_v3)
{
	ADD_NODES(9320, (&node, graph, NULL, NULL, 0, &parameters),
		(&after, graph, &node, NULL, 1, &end), (&after, graph, NULL, NULL, 0, &empty))
}

/*
 * --- executable graphs
 * ----------------------------------------------------------------------------
 */

static void destroy_own(CUgraphExec exec, CUgraph graph)
{
	OK(D(cuGraphExecDestroy)(exec));
	SAW(destroy, graph, .api = "cuGraphExecDestroy", .address = N(exec));
	OK(D(cuGraphDestroy)(graph));
}

#define INSTANTIATE(flags, arguments) \
	CUgraph graph = make_graph(); \
	CUdeviceptr block = add_nodes(graph, 9400, 1); \
	CUgraphExec exec; \
	OK(call arguments); \
	saw_executable(NULL, exec, flags, block, 9400); \
	destroy_own(exec, graph);

SNIPPET(cuGraphInstantiate){ INSTANTIATE(0, (&exec, graph, NULL, NULL, 0)) }

SNIPPET(cuGraphInstantiate_v2){ INSTANTIATE(0, (&exec, graph, NULL, NULL, 0)) }

SNIPPET(cuGraphInstantiateWithFlags)
{
	INSTANTIATE(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
		(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
#if CUDA_VERSION >= 12090
	/* The recorder also reads a graph inside a graph. */
	CUgraph outer = make_graph(), inner = make_graph();
	CUgraphNodeParams child = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	CUdeviceptr inside = add_nodes(inner, 9410, 1);
	CUgraphNode node;
	child.graph.graph = inner;
	child.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	OK(D(cuGraphAddNode_v2)(&node, outer, NULL, NULL, 0, &child));
	OK(call(&exec, outer, 0));
	saw_executable(NULL, exec, 0, inside, 9410);
	destroy_own(exec, outer);
#endif
}

SNIPPET(cuGraphInstantiateWithParams)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = { .flags = 0 };
	INSTANTIATE(0, (&exec, graph, &parameters))
}

SNIPPET(cuGraphInstantiateWithParams_ptsz)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {
		.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
	};
	INSTANTIATE(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, (&exec, graph, &parameters))
}

static void upload(CUresult (*call)(CUgraphExec, CUstream))
{
	CUgraph graph;
	CUgraphExec exec = make_executable(&graph, 1);

	/* Causes no event, because no memory becomes live. */
	OK(call(exec, NULL));
	destroy_executable(exec, graph);
}

SNIPPET(cuGraphUpload)
{
	upload(call);
}

SNIPPET(cuGraphUpload_ptsz)
{
	upload(call);
}

/* Frees the memory that a launch leaves like other memory. A graph without memory has no event. */
static void launch(CUresult (*call)(CUgraphExec, CUstream))
{
	CUgraph graph = make_graph(), plain = make_graph();
	CUgraphExec exec, plain_exec;
	CUgraphNode node;
	CUdeviceptr block = add_nodes(graph, 9500, 0);
	CUstream stream;

	OK(D(cuGraphAddEmptyNode)(&node, plain, NULL, 0));
	OK(D(cuGraphInstantiateWithFlags)(&plain_exec, plain, 0));
	SAW(create, graph, .api = "cuGraphInstantiateWithFlags", .address = N(plain_exec));
	OK(D(cuGraphInstantiateWithFlags)(&exec, graph,
		CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	SAW(create, graph, .api = "cuGraphInstantiateWithFlags", .address = N(exec), .object = 1);
	SAW(node_alloc, graph, .api = "cuGraphInstantiateWithFlags", .address = block, .size = 9500,
		.object = N(exec));
	OK(D(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
	OK(call(exec, stream));
	SAW(launch, graph, .address = N(exec), .stream = N(stream));
	OK(call(exec, stream));
	SAW(launch, graph, .address = N(exec), .stream = N(stream));
	OK(call(plain_exec, stream));
	free_block(block);
	OK(D(cuStreamDestroy_v2)(stream));
	destroy_own(exec, graph);
	OK(D(cuGraphExecDestroy)(plain_exec));
	OK(D(cuGraphDestroy)(plain));
}

SNIPPET(cuGraphLaunch)
{
	launch(call);
}

SNIPPET(cuGraphLaunch_ptsz)
{
	launch(call);
}

SNIPPET(cuGraphExecDestroy)
{
	CUgraph graph;
	CUgraphExec exec = make_executable(&graph, 1);

	OK(call(exec));
	SAW(destroy, graph, .address = N(exec));
	OK(D(cuGraphDestroy)(graph));
}

SNIPPET(cuDeviceGraphMemTrim)
{
	OK(call(0));
	SAW(trim, graph, .address = 1);
	OK(call(1));
	SAW(trim, graph, .address = 2, .device = 1);
}

/*
 * --- captures
 * -------------------------------------------------------------------------------------
 */

/*
 * Allocates and frees during a capture, which makes nodes. Then launches the captured graph, which
 * frees its memory itself.
 */
static CUgraph end_capture(CUstream stream, CUresult (*end)(CUstream, CUgraph *), int is_per_thread)
{
	CUdeviceptr block;
	CUgraph graph = NULL;
	CUgraphExec exec;
	/* In functions for per-thread streams, NULL is recorded as the thread's own stream. */
	unsigned long long as_recorded = is_per_thread && !stream ? OWN : N(stream);

	if (is_per_thread) {
		OK(D(cuMemAllocAsync_ptsz)(&block, 9600, stream));
		SAW(node_alloc, pool, .api = "cuMemAllocAsync_ptsz", .address = block, .size = 9600,
			.stream = as_recorded);
		OK(D(cuMemFreeAsync_ptsz)(block, stream));
		SAW(node_free, pool, .api = "cuMemFreeAsync_ptsz", .address = block, .stream = as_recorded);
	} else {
		OK(D(cuMemAllocAsync)(&block, 9600, stream));
		SAW(node_alloc, pool, .api = "cuMemAllocAsync", .address = block, .size = 9600,
			.stream = as_recorded);
		OK(D(cuMemFreeAsync)(block, stream));
		SAW(node_free, pool, .api = "cuMemFreeAsync", .address = block, .stream = as_recorded);
	}
	OK(end(stream, &graph));
	OK(D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	saw_executable("cuGraphInstantiateWithFlags", exec, 0, block, 9600);
	OK(D(cuGraphLaunch)(exec, NULL));
	SAW(launch, graph, .api = "cuGraphLaunch", .address = N(exec));
	OK(D(cuGraphExecDestroy)(exec));
	SAW(destroy, graph, .api = "cuGraphExecDestroy", .address = N(exec));
	/* No capture is active any more. */
	OK(D(cuMemAllocAsync)(&block, 9601, NULL));
	SAW(alloc, pool, .api = "cuMemAllocAsync", .address = block, .size = 9601);
	free_later(block);
	return graph;
}

static CUstream make_stream(void)
{
	CUstream stream = NULL;

	OK(D(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

#define CAPTURE(arguments, is_per_thread) \
	CUstream stream = make_stream(); \
	OK(call arguments); \
	OK(D(cuGraphDestroy)(end_capture(stream, \
		is_per_thread ? D(cuStreamEndCapture_ptsz) : D(cuStreamEndCapture), is_per_thread))); \
	OK(D(cuStreamDestroy_v2)(stream));

/*
 * Captures the thread's own stream: by its handle, and by NULL (functions for per-thread streams).
 */
#define CAPTURE_OWN(begin) \
	stream = CU_STREAM_PER_THREAD; \
	OK(begin); \
	OK(D(cuGraphDestroy)(end_capture(stream, D(cuStreamEndCapture_ptsz), 1))); \
	stream = NULL; \
	OK(begin); \
	OK(D(cuGraphDestroy)(end_capture(stream, D(cuStreamEndCapture_ptsz), 1)));

SNIPPET(cuStreamBeginCapture){ CAPTURE((stream), 0) }

SNIPPET(cuStreamBeginCapture_ptsz){ CAPTURE((stream), 1) CAPTURE_OWN(call(stream)) }

SNIPPET(cuStreamBeginCapture_v2){ CAPTURE((stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0) }

SNIPPET(cuStreamBeginCapture_v2_ptsz){ CAPTURE((stream, CU_STREAM_CAPTURE_MODE_RELAXED), 1)
		CAPTURE_OWN(call(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)) }

/* Captures into an existing graph, which the program still owns afterwards. */
#define CAPTURE_TO_GRAPH(is_per_thread) \
	CUgraph into = make_graph(); \
	CUstream stream = make_stream(); \
	OK(call(stream, into, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); \
	end_capture(stream, is_per_thread ? D(cuStreamEndCapture_ptsz) : D(cuStreamEndCapture), \
		is_per_thread); \
	OK(D(cuStreamDestroy_v2)(stream)); \
	OK(D(cuGraphDestroy)(into));

SNIPPET(cuStreamBeginCaptureToGraph){ CAPTURE_TO_GRAPH(0) }

SNIPPET(cuStreamBeginCaptureToGraph_ptsz){ CAPTURE_TO_GRAPH(1) }

/*
 * The simulated driver refuses to record a graph again. This checks that a refused call begins no
 * capture.
 */
#define RECAPTURE(is_per_thread) \
	CUgraph graph = make_graph(); \
	CUstream stream = make_stream(); \
	int result = call(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, graph, NULL, NULL); \
	OK(result != CUDA_ERROR_NOT_SUPPORTED); \
	CUdeviceptr block; \
	OK(D(cuMemAllocAsync)(&block, 9700, stream)); \
	SAW(alloc, pool, .api = "cuMemAllocAsync", .address = block, .size = 9700, \
		.stream = N(stream)); \
	free_later(block); \
	OK(D(cuStreamDestroy_v2)(stream)); \
	OK(D(cuGraphDestroy)(graph));

SNIPPET(cuStreamBeginRecaptureToGraph){ RECAPTURE(0) }

SNIPPET(cuStreamBeginRecaptureToGraph_ptsz)
{
	RECAPTURE(1)
}

static void begin_and_end(CUresult (*call)(CUstream, CUgraph *), int is_per_thread)
{
	CUstream stream = make_stream();

	OK(D(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(D(cuGraphDestroy)(end_capture(stream, call, is_per_thread)));
	OK(D(cuStreamDestroy_v2)(stream));
}

SNIPPET(cuStreamEndCapture)
{
	begin_and_end(call, 0);
}

SNIPPET(cuStreamEndCapture_ptsz)
{
	begin_and_end(call, 1);
}
