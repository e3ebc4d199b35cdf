/* SPDX-License-Identifier: MIT */
/* The runtime's functions for graphs and devices. See snippets_runtime.c. */
#include "snippets.h"

/*
 * --- graphs
 * ---------------------------------------------------------------------------------------
 */

RUNTIME_SNIPPET(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode)
{
	struct cudaMemAllocNodeParams parameters = {
		.poolProps = { .allocType = cudaMemAllocationTypePinned,
			.location = { .type = cudaMemLocationTypeDevice } },
		.bytesize = 5600,
	};
	CUgraph graph;
	cudaGraphNode_t node;

	OK(D(cuGraphCreate)(&graph, 0));
	OK(call(&node, graph, NULL, 0, &parameters));
	SAW(node_alloc, graph, .address = N(parameters.dptr), .size = 5600);
	OK(D(cuGraphDestroy)(graph));
}

RUNTIME_SNIPPET(cudaGraphAddMemFreeNode, cuGraphAddMemFreeNode)
{
	CUgraph graph;
	cudaGraphNode_t nodes[1], node;
	size_t count = 1;

	OK(D(cuGraphCreate)(&graph, 0));
	CUdeviceptr block = add_nodes(graph, 5610, 0);
	OK(D(cuGraphGetNodes)(graph, nodes, &count));
	OK(call(&node, graph, nodes, 1, (void *)block));
	SAW(node_free, graph, .address = block);
	OK(D(cuGraphDestroy)(graph));
}

static void launch(cudaError_t (*call)(cudaGraphExec_t, cudaStream_t), unsigned long long stream)
{
	CUgraph graph;
	CUgraphExec exec = make_executable(&graph, 1);

	OK(call(exec, NULL));
	SAW(launch, graph, .address = N(exec), .stream = stream);
	destroy_executable(exec, graph);
}

RUNTIME_SNIPPET(cudaGraphLaunch, cuGraphLaunch)
{
	launch(call, 0);
}

RUNTIME_SNIPPET(cudaGraphLaunch_ptsz, cuGraphLaunch_ptsz)
{
	launch(call, OWN);
}

static void upload(cudaError_t (*call)(cudaGraphExec_t, cudaStream_t))
{
	CUgraph graph;
	CUgraphExec exec = make_executable(&graph, 1);

	OK(call(exec, NULL));
	destroy_executable(exec, graph);
}

RUNTIME_SNIPPET(cudaGraphUpload, cuGraphUpload)
{
	upload(call);
}

RUNTIME_SNIPPET(cudaGraphUpload_ptsz, cuGraphUpload_ptsz)
{
	upload(call);
}

RUNTIME_SNIPPET(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)
{
	CUgraph graph;
	cudaGraphExec_t exec;

	OK(D(cuGraphCreate)(&graph, 0));
	CUdeviceptr block = add_nodes(graph, 5620, 1);
	OK(call(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	saw_executable(NULL, exec, cudaGraphInstantiateFlagAutoFreeOnLaunch, block, 5620);
	destroy_executable(exec, graph);
}

RUNTIME_SNIPPET(cudaGraphExecDestroy, cuGraphExecDestroy)
{
	CUgraph graph;
	CUgraphExec exec = make_executable(&graph, 1);

	OK(call(exec));
	SAW(destroy, graph, .address = N(exec));
	OK(D(cuGraphDestroy)(graph));
}

RUNTIME_SNIPPET(cudaDeviceGraphMemTrim, cuDeviceGraphMemTrim)
{
	OK(call(1));
	SAW(trim, graph, .address = 2, .device = 1);
}

/*
 * --- devices
 * --------------------------------------------------------------------------------------
 */

/* Names the function that the recorder sees when the set-up calls a runtime function. */
#ifdef IS_STATIC
#define SEEN_AS(symbol, driver_symbol) #driver_symbol
#else
#define SEEN_AS(symbol, driver_symbol) #symbol
#endif

static CUcontext current_context(void)
{
	CUcontext context = NULL;

	OK(D(cuCtxGetCurrent)(&context));
	return context;
}

/* Ends the current context, which the runtime made on device 1. Makes device 0 current again. */
static void back(void)
{
	CUcontext context = current_context();

	OK(cudaDeviceReset());
	SAW(free, context, .api = SEEN_AS(cudaDeviceReset, cuDevicePrimaryCtxReset_v2),
		.address = N(context));
	OK(cudaSetDevice(0));
}

RUNTIME_SNIPPET(cudaSetDevice, cuDevicePrimaryCtxRetain)
{
	OK(call(1));
	SAW(alloc, context, .address = N(current_context()), .device = 1, .size = CONTEXT_BYTES);
	OK(call(1));
	back();
}

RUNTIME_SNIPPET(cudaInitDevice, cuDevicePrimaryCtxRetain)
{
	OK(call(1, 0, 0));
	OK(cudaSetDevice(1));
	SAW(alloc, context, .address = N(current_context()), .device = 1, .size = CONTEXT_BYTES);
	back();
}

RUNTIME_SNIPPET(cudaDeviceReset, cuDevicePrimaryCtxReset_v2)
{
	void *block;

	OK(cudaSetDevice(1));
	CUcontext context = current_context();
	SAW(alloc, context, .api = SEEN_AS(cudaSetDevice, cuDevicePrimaryCtxRetain),
		.address = N(context), .device = 1, .size = CONTEXT_BYTES);
	OK(cudaMalloc(&block, 5700));
	SAW(alloc, device, .api = SEEN_AS(cudaMalloc, cuMemAlloc_v2), .address = N(block), .size = 5700,
		.device = 1);
	/* The block ends with its context. */
	OK(call());
	SAW(free, context, .address = N(context));
	OK(cudaSetDevice(0));
}

RUNTIME_SNIPPET(cudaDeviceSetLimit, cuCtxSetLimit)
{
	OK(call(cudaLimitDevRuntimeSyncDepth, 4));
	SAW(set, limit, .address = cudaLimitDevRuntimeSyncDepth + 1, .object = 4);
}

RUNTIME_SNIPPET(cudaMemGetInfo, cuMemGetInfo_v2)
{
	size_t free_bytes, total_bytes;

	OK(call(&free_bytes, &total_bytes));
}
