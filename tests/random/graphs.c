/* SPDX-License-Identifier: MIT */
/* Actions on graphs that allocate: built node by node or captured, and launched repeatedly. */
#include <stdlib.h>

#include "random_calls.h"

enum { BLOCKS_MAX = 6 };

struct graph {
	CUgraph graph; /* NULL: destroyed; only the executable graph exists */
	CUgraphExec exec;
	CUdeviceptr left[BLOCKS_MAX]; /* blocks that a launch leaves allocated */
	unsigned left_count;
	/*
	 * Decided before the first instantiation, and never changed, so each block has one owner. True:
	 * the blocks that a launch left belong to the graph, and the next launch frees them. False: any
	 * thread may free them.
	 */
	bool frees_at_launch;
	bool was_launched;
	bool is_left;     /* the last launch left its blocks, and the graph owns them */
	unsigned freed;   /* one bit for each block of `left` that was freed since the last launch */
	bool shares_blocks; /* this graph frees blocks of another graph, or the other way round */
};

static void keep(struct graph *graph)
{
	put(GRAPH, &(struct resource){ .other = (uintptr_t)graph });
}

/*
 * --- nodes
 * ----------------------------------------------------------------------------------------
 */

static bool add_alloc(struct worker *worker, CUgraph graph, CUgraphNode *ret_node,
	CUdeviceptr *ret_address)
{
	CUmemPoolProps place = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)draw(worker, DEVICES) },
	};
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = { .poolProps = place,
		.bytesize = one_in(worker, 20) ? 0 : draw_size(worker) };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	bool done;

	switch (draw(worker, 4)) {
	case 0:
		done = CALL(worker, cuGraphAddMemAllocNode(ret_node, graph, NULL, 0, &parameters));
		*ret_address = parameters.dptr;
		return done;
	case 1:
		done = CALL(worker,
			cudaGraphAddMemAllocNode(ret_node, graph, NULL, 0,
				(struct cudaMemAllocNodeParams *)&parameters));
		*ret_address = parameters.dptr;
		return done;
	case 2:
		any.alloc.poolProps = place;
		any.alloc.bytesize = parameters.bytesize;
		done = CALL(worker, cuGraphAddNode_v2(ret_node, graph, NULL, NULL, 0, &any));
		break;
	default:
		any.alloc.poolProps = place;
		any.alloc.bytesize = parameters.bytesize;
		done = CALL(worker, cuGraphAddNode(ret_node, graph, NULL, 0, &any));
	}
	*ret_address = any.alloc.dptr;
	return done;
}

static bool add_free(struct worker *worker, CUgraph graph, const CUgraphNode *after,
	CUdeviceptr address)
{
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free.dptr = address };
	size_t count_after = after ? 1 : 0;
	CUgraphNode node;

	switch (draw(worker, 3)) {
	case 0:
		return CALL(worker, cuGraphAddMemFreeNode(&node, graph, after, count_after, address));
	case 1:
		return CALL(worker,
			cudaGraphAddMemFreeNode(&node, graph, after, count_after, (void *)address));
	default:
		return CALL(worker, cuGraphAddNode_v2(&node, graph, after, NULL, count_after, &any));
	}
}

static void add_blocks(struct worker *worker, struct graph *graph, CUgraph into)
{
	for (uint64_t blocks = 1 + draw(worker, 3); blocks-- > 0 && graph->left_count < BLOCKS_MAX;) {
		CUdeviceptr address;
		CUgraphNode node;

		if (!add_alloc(worker, into, &node, &address))
			continue;
		if (one_in(worker, 2) && add_free(worker, into, &node, address))
			continue;
		graph->left[graph->left_count++] = address;
	}
}

/* Adds a child graph that allocates. Such a child is moved into the graph, not copied. */
static void add_child(struct worker *worker, struct graph *graph)
{
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	CUgraph child;
	CUgraphNode node;

	if (!CALL(worker, cuGraphCreate(&child, 0)))
		return;
	add_blocks(worker, graph, child);
	any.graph.graph = child;
	any.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	CALL(worker, cuGraphAddNode_v2(&node, graph->graph, NULL, NULL, 0, &any));
}

/*
 * Adds a node that frees a block of another graph. The other graph does not free this block. From
 * now on, only one of the two graphs is launched at a time.
 */
static void free_block_of_other_graph(struct worker *worker, struct graph *graph)
{
	struct resource resource;

	lock_exclusively(worker);
	if (!take(worker, GRAPH, &resource))
		return;

	struct graph *other = (struct graph *)resource.other;
	if (other->left_count && !other->frees_at_launch && !other->was_launched &&
		add_free(worker, graph->graph, NULL, other->left[other->left_count - 1])) {
		other->left_count--;
		other->shares_blocks = graph->shares_blocks = true;
	}
	put(GRAPH, &resource);
}

ACTION(5, build_graph)
{
	struct graph *graph;

	if (!bag_has_space(GRAPH))
		return destroy_graph(worker);
	graph = calloc(1, sizeof(*graph));
	if (!graph || !CALL(worker, cuGraphCreate(&graph->graph, 0)))
		return free(graph);
	graph->frees_at_launch = one_in(worker, 3);
	add_blocks(worker, graph, graph->graph);
	if (one_in(worker, 4))
		add_child(worker, graph);
	if (one_in(worker, 4))
		free_block_of_other_graph(worker, graph);
	keep(graph);
}

/*
 * --- capture
 * --------------------------------------------------------------------------------------
 */

static void call_captured(struct worker *worker, struct graph *graph, CUstream stream)
{
	size_t size_bytes = draw_size(worker);
	CUdeviceptr address = 0;
	struct resource pooled;
	void *pointer = NULL;

	switch (draw(worker, 6)) {
	case 0:
		/* A graph can free only memory that a graph allocates. */
		if (take(worker, POOLED, &pooled)) {
			if (!pooled.other)
				CALL(worker, cuMemFreeAsync(pooled.address, stream));
			put(POOLED, &pooled);
		}
		return;
	case 1:
		/* This may be forbidden during a capture, and may invalidate it. */
		if (CALL(worker, cuMemAlloc_v2(&address, size_bytes)))
			CALL(worker, cuMemFree_v2(address));
		return;
	case 2:
		if (CALL(worker, cudaMallocAsync(&pointer, size_bytes, stream)))
			address = (uintptr_t)pointer;
		break;
	default:
		CALL(worker, cuMemAllocAsync(&address, size_bytes, stream));
	}
	if (!address)
		return;
	if (one_in(worker, 2) &&
		(one_in(worker, 2) ? CALL(worker, cuMemFreeAsync(address, stream))
						   : CALL(worker, cudaFreeAsync((void *)address, stream))))
		return;
	graph->left[graph->left_count++] = address;
}

ACTION(5, capture_graph)
{
	struct graph *graph;
	struct resource stream;
	bool began;

	if (!bag_has_space(GRAPH))
		return destroy_graph(worker);
	if (!take(worker, STREAM, &stream))
		return create_stream(worker);
	graph = calloc(1, sizeof(*graph));
	if (!graph)
		return;
	if (one_in(worker, 5) && !cuGraphCreate(&graph->graph, 0))
		began = CALL(worker,
			cuStreamBeginCaptureToGraph((CUstream)stream.address, graph->graph, NULL, NULL, 0,
				CU_STREAM_CAPTURE_MODE_RELAXED));
	else if (one_in(worker, 2))
		began = CALL(worker,
			cuStreamBeginCapture_v2((CUstream)stream.address,
				(CUstreamCaptureMode)draw(worker, 3)));
	else
		began = CALL(worker,
			cudaStreamBeginCapture((cudaStream_t)stream.address,
				(enum cudaStreamCaptureMode)draw(worker, 3)));
	for (uint64_t calls = draw(worker, BLOCKS_MAX); began && calls-- > 0;)
		call_captured(worker, graph, (CUstream)stream.address);
	if (began &&
		!(one_in(worker, 2)
				? CALL(worker, cuStreamEndCapture((CUstream)stream.address, &graph->graph))
				: CALL(worker, cudaStreamEndCapture((cudaStream_t)stream.address, &graph->graph))))
		began = false;
	put(STREAM, &stream);
	graph->frees_at_launch = one_in(worker, 3);
	if (began)
		keep(graph);
	else
		free(graph);
}

/*
 * --- launch
 * ---------------------------------------------------------------------------------------
 */

static void instantiate(struct worker *worker, struct graph *graph)
{
	unsigned long long flags =
		graph->frees_at_launch ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0;
	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = { .flags = flags };
	CUgraphExec exec = NULL;
	bool done;

	/* The older functions have no flags. */
	switch (draw(worker, flags ? 3 : 5)) {
	case 3:
		done = CALL(worker, cuGraphInstantiate_v2(&exec, graph->graph, NULL, NULL, 0));
		break;
	case 4:
		done = CALL(worker, cuGraphInstantiate(&exec, graph->graph, NULL, NULL, 0));
		break;
	case 0:
		done = CALL(worker, cuGraphInstantiateWithParams(&exec, graph->graph, &parameters));
		break;
	case 1:
		done = CALL(worker, cudaGraphInstantiateWithFlags(&exec, graph->graph, flags));
		break;
	default:
		done = CALL(worker, cuGraphInstantiateWithFlags(&exec, graph->graph, flags));
	}
	if (!done)
		return;
	graph->exec = exec;
	if (one_in(worker, 4)) {
		CALL(worker, cuGraphDestroy(graph->graph));
		graph->graph = NULL;
	}
}

static bool free_left(struct worker *worker, CUdeviceptr address)
{
	switch (draw(worker, 4)) {
	case 0:
		return CALL(worker, cuMemFree_v2(address));
	case 1:
		return CALL(worker, cuMemFreeAsync(address, NULL));
	case 2:
		return CALL(worker, cudaFree((void *)address));
	default:
		return CALL(worker, cudaFreeAsync((void *)address, NULL));
	}
}

/* Lets any thread free the blocks that the next launch will not free. */
static void release_left_blocks(struct worker *worker, struct graph *graph)
{
	graph->was_launched = true;
	graph->is_left = graph->frees_at_launch;
	graph->freed = 0;
	for (unsigned i = 0; i < graph->left_count; i++) {
		if (!graph->frees_at_launch)
			put(POOLED, &(struct resource){ .address = graph->left[i], .other = 1 });
		else if (one_in(worker, 4) && free_left(worker, graph->left[i]))
			graph->freed |= 1u << i;
	}
}

static void launch(struct worker *worker, struct graph *graph)
{
	struct resource stream = { 0 };
	bool has_stream = one_in(worker, 2) && take(worker, STREAM, &stream);
	bool done;

	if (one_in(worker, 5))
		CALL(worker, cuGraphUpload(graph->exec, (CUstream)stream.address));
	switch (draw(worker, 3)) {
	case 0:
		done = CALL(worker, cuGraphLaunch(graph->exec, (CUstream)stream.address));
		break;
	case 1:
		done = CALL(worker, cuGraphLaunch_ptsz(graph->exec, (CUstream)stream.address));
		break;
	default:
		done = CALL(worker, cudaGraphLaunch(graph->exec, (cudaStream_t)stream.address));
	}
	if (has_stream)
		put(STREAM, &stream);
	if (done)
		release_left_blocks(worker, graph);
}

ACTION(16, launch_graph)
{
	CUgraphExecUpdateResultInfo info;
	struct graph *graph;
	struct resource resource;

	if (!take(worker, GRAPH, &resource))
		return build_graph(worker);
	graph = (struct graph *)resource.other;
	if (graph->shares_blocks)
		lock_exclusively(worker);
	if (!graph->exec)
		instantiate(worker, graph);
	if (graph->exec)
		launch(worker, graph);
	if (graph->exec && graph->graph && one_in(worker, 8))
		CALL(worker, cuGraphExecUpdate_v2(graph->exec, graph->graph, &info));
	put(GRAPH, &resource);
}

/* Destroys a graph. The blocks that it left stay allocated, and any thread may free them. */
ACTION(6, destroy_graph)
{
	struct graph *graph;
	struct resource resource;

	if (!take(worker, GRAPH, &resource))
		return;
	graph = (struct graph *)resource.other;
	if (graph->exec)
		CALL(worker,
			one_in(worker, 2) ? (int)cuGraphExecDestroy(graph->exec)
							  : (int)cudaGraphExecDestroy(graph->exec));
	graph->exec = NULL;
	/* Sometimes keeps the graph, so that it is instantiated again. */
	if (graph->graph && !graph->is_left && one_in(worker, 3))
		return put(GRAPH, &resource);
	if (graph->graph)
		CALL(worker, cuGraphDestroy(graph->graph));
	for (unsigned i = 0; graph->is_left && i < graph->left_count; i++)
		if (!(graph->freed & 1u << i))
			put(POOLED, &(struct resource){ .address = graph->left[i], .other = 1 });
	free(graph);
}

ACTION(2, trim_graphs)
{
	CALL(worker,
		one_in(worker, 2) ? (int)cuDeviceGraphMemTrim((int)draw(worker, DEVICES))
						  : (int)cudaDeviceGraphMemTrim((int)draw(worker, DEVICES)));
}

ACTION(3, invalid_graph_calls)
{
	struct graph *graph;
	struct resource resource;
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph copy;

	if (!take(worker, GRAPH, &resource))
		return;
	graph = (struct graph *)resource.other;
	switch (draw(worker, 5)) {
	case 0:
		/* A graph cannot be instantiated twice, unless its allocation nodes were all refused. */
		if (graph->graph && graph->exec &&
			CALL(worker, cuGraphInstantiateWithFlags(&exec, graph->graph, 0)))
			CALL(worker, cuGraphExecDestroy(exec));
		break;
	case 1:
		if (graph->graph && CALL(worker, cuGraphClone(&copy, graph->graph)))
			CALL(worker, cuGraphDestroy(copy));
		break;
	case 2:
		if (graph->graph)
			CALL(worker, cuGraphAddMemFreeNode(&node, graph->graph, NULL, 0, 4097));
		break;
	case 3:
		if (graph->graph)
			CALL(worker, cuGraphAddMemAllocNode(&node, graph->graph, NULL, 0, NULL));
		break;
	case 4:
		CALL(worker, cuGraphLaunch(NULL, NULL));
		break;
	}
	put(GRAPH, &resource);
}
