/* SPDX-License-Identifier: MIT */
/* The runtime's functions. See snippets.h; in a program with the runtime inside, the driver's names are seen. */
#include "snippets.h"

#include <unistd.h>

RUNTIME_SNIPPET(cudaMalloc, cuMemAlloc_v2)
{
	void *block;

	OK(call(&block, 5000));
	SAW(alloc, device, .address = N(block), .size = 5000);
	free_block((CUdeviceptr)block);
}

RUNTIME_SNIPPET(cudaMallocManaged, cuMemAllocManaged)
{
	void *block;

	OK(call(&block, 5100, cudaMemAttachGlobal));
	SAW(alloc, managed, .address = N(block), .size = 5100);
	free_block((CUdeviceptr)block);
}

RUNTIME_SNIPPET(cudaMallocPitch, cuMemAllocPitch_v2)
{
	void *block;
	size_t pitch;

	OK(call(&block, &pitch, 100, 10));
	SAW(alloc, device, .address = N(block), .size = pitch * 10);
	free_block((CUdeviceptr)block);
}

RUNTIME_SNIPPET(cudaMalloc3D, cuMemAllocPitch_v2)
{
	struct cudaPitchedPtr place;

	OK(call(&place, (struct cudaExtent){ 100, 5, 2 }));
	SAW(alloc, device, .address = N(place.ptr), .size = place.pitch * 10);
	free_block((CUdeviceptr)place.ptr);
}

RUNTIME_SNIPPET(cudaFree, cuMemFree_v2)
{
	CUdeviceptr block = make_block(5200);

	OK(call((void *)block));
	SAW(free, device, .address = block);
	OK(call(NULL));
}

RUNTIME_SNIPPET(cudaMallocHost, cuMemHostAlloc)
{
	void *block;

	OK(call(&block, 5300));
	SAW(alloc, pinned, .address = N(block), .size = 5300);
	free_host(block);
}

RUNTIME_SNIPPET(cudaHostAlloc, cuMemHostAlloc)
{
	void *block;

	OK(call(&block, 5310, 0));
	SAW(alloc, pinned, .address = N(block), .size = 5310);
	free_host(block);
}

RUNTIME_SNIPPET(cudaFreeHost, cuMemFreeHost)
{
	void *block;

	OK(D(cuMemHostAlloc)(&block, 5320, 0));
	SAW(alloc, pinned, .api = "cuMemHostAlloc", .address = N(block), .size = 5320);
	OK(call(block));
	SAW(free, pinned, .address = N(block));
}

RUNTIME_SNIPPET(cudaHostRegister, cuMemHostRegister_v2)
{
	void *memory = plain_memory();

	OK(call(memory, 1 << 14, 0));
	SAW(alloc, registered, .address = N(memory), .size = 1 << 14);
	unregister(memory);
}

RUNTIME_SNIPPET(cudaHostUnregister, cuMemHostUnregister)
{
	void *memory = plain_memory();

	OK(D(cuMemHostRegister_v2)(memory, 1 << 13, 0));
	SAW(alloc, registered, .api = "cuMemHostRegister_v2", .address = N(memory), .size = 1 << 13);
	OK(call(memory));
	SAW(free, registered, .address = N(memory));
}

/* --- stream-ordered memory ------------------------------------------------------------------------ */

RUNTIME_SNIPPET(cudaMallocAsync, cuMemAllocAsync)
{
	void *block;

	OK(call(&block, 5400, NULL));
	SAW(alloc, pool, .address = N(block), .size = 5400);
	free_later((CUdeviceptr)block);
}

RUNTIME_SNIPPET(cudaMallocAsync_ptsz, cuMemAllocAsync_ptsz)
{
	void *block;

	OK(call(&block, 5410, NULL));
	SAW(alloc, pool, .address = N(block), .size = 5410, .stream = OWN);
	free_later((CUdeviceptr)block);
}

static void from_pool(cudaError_t (*call)(void **, size_t, cudaMemPool_t, cudaStream_t), size_t size_bytes,
	unsigned long long stream)
{
	CUmemoryPool pool = make_pool();
	void *block;

	OK(call(&block, size_bytes, pool, NULL));
	SAW(alloc, pool, .address = N(block), .size = size_bytes, .object = N(pool), .stream = stream);
	free_later((CUdeviceptr)block);
	destroy_pool(pool);
}

RUNTIME_SNIPPET(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync)
{
	from_pool(call, 5420, 0);
}

RUNTIME_SNIPPET(cudaMallocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync_ptsz)
{
	from_pool(call, 5430, OWN);
}

static void free_of_pool(cudaError_t (*call)(void *, cudaStream_t), unsigned long long stream)
{
	CUdeviceptr block;

	OK(D(cuMemAllocAsync)(&block, 5440, NULL));
	SAW(alloc, pool, .api = "cuMemAllocAsync", .address = block, .size = 5440);
	OK(call((void *)block, NULL));
	SAW(free, pool, .address = block, .stream = stream);
}

RUNTIME_SNIPPET(cudaFreeAsync, cuMemFreeAsync)
{
	free_of_pool(call, 0);
}

RUNTIME_SNIPPET(cudaFreeAsync_ptsz, cuMemFreeAsync_ptsz)
{
	free_of_pool(call, OWN);
}

/* --- arrays --------------------------------------------------------------------------------------- */

static const struct cudaChannelFormatDesc two_floats = { 32, 32, 0, 0, cudaChannelFormatKindFloat };

RUNTIME_SNIPPET(cudaMallocArray, cuArrayCreate_v2)
{
	cudaArray_t array;

	OK(call(&array, &two_floats, 20, 10, 0));
	SAW(alloc, array, .address = N(array), .size = 20 * 10 * 8);
	destroy_array(array);
}

RUNTIME_SNIPPET(cudaMalloc3DArray, cuArray3DCreate_v2)
{
	cudaArray_t array;

	OK(call(&array, &two_floats, (struct cudaExtent){ 4, 3, 2 }, 0));
	SAW(alloc, array, .address = N(array), .size = 4 * 3 * 2 * 8);
	destroy_array(array);
}

RUNTIME_SNIPPET(cudaMallocMipmappedArray, cuMipmappedArrayCreate)
{
	cudaMipmappedArray_t mipmap;

	OK(call(&mipmap, &two_floats, (struct cudaExtent){ 8, 8, 0 }, 2, 0));
	SAW(alloc, array, .address = N(mipmap), .size = (8 * 8 + 4 * 4) * 8);
	destroy_mipmap(mipmap);
}

RUNTIME_SNIPPET(cudaFreeArray, cuArrayDestroy)
{
	CUarray array;

	OK(D(cuArrayCreate_v2)(&array,
		&(CUDA_ARRAY_DESCRIPTOR){ .Width = 50, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 }));
	SAW(alloc, array, .api = "cuArrayCreate_v2", .address = N(array), .size = 50);
	OK(call((cudaArray_t)array));
	SAW(free, array, .address = N(array));
}

RUNTIME_SNIPPET(cudaFreeMipmappedArray, cuMipmappedArrayDestroy)
{
	CUmipmappedArray mipmap;

	OK(D(cuMipmappedArrayCreate)(&mipmap,
		&(CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 }, 1));
	SAW(alloc, array, .api = "cuMipmappedArrayCreate", .address = N(mipmap), .size = 256);
	OK(call((cudaMipmappedArray_t)mipmap));
	SAW(free, array, .address = N(mipmap));
}

/* --- pools ---------------------------------------------------------------------------------------- */

RUNTIME_SNIPPET(cudaMemPoolCreate, cuMemPoolCreate)
{
	cudaMemPool_t pool;

	OK(call(&pool, &(struct cudaMemPoolProps){ .allocType = cudaMemAllocationTypePinned,
		.location = { .type = cudaMemLocationTypeDevice, .id = 0 } }));
	SAW(create, pool, .address = N(pool));
	destroy_pool(pool);
}

RUNTIME_SNIPPET(cudaMemPoolDestroy, cuMemPoolDestroy)
{
	CUmemoryPool pool = make_pool();

	OK(call(pool));
	SAW(destroy, pool, .address = N(pool));
}

RUNTIME_SNIPPET(cudaMemPoolTrimTo, cuMemPoolTrimTo)
{
	CUmemoryPool pool = make_pool();

	OK(call(pool, 321));
	SAW(trim, pool, .address = N(pool), .size = 321);
	destroy_pool(pool);
}

RUNTIME_SNIPPET(cudaMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle)
{
	CUmemoryPool pool = make_pool();
	cudaMemPool_t imported;
	int file = -1;

	OK(D(cuMemPoolExportToShareableHandle)(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(export, pool, .api = "cuMemPoolExportToShareableHandle", .address = N(pool));
	OK(call(&imported, (void *)(intptr_t)file, cudaMemHandleTypePosixFileDescriptor, 0));
	SAW(create, pool, .address = N(imported), .object = 1);
	close(file);
	destroy_pool(imported);
	destroy_pool(pool);
}

RUNTIME_SNIPPET(cudaMemPoolImportPointer, cuMemPoolImportPointer)
{
	CUmemoryPool pool = make_pool(), imported = import_pool(pool);
	CUdeviceptr block;
	CUmemPoolPtrExportData data;
	void *copy;

	OK(D(cuMemAllocFromPoolAsync)(&block, 5500, pool, NULL));
	SAW(alloc, pool, .api = "cuMemAllocFromPoolAsync", .address = block, .size = 5500, .object = N(pool));
	OK(D(cuMemPoolExportPointer)(&data, block));
	SAW(export, device, .api = "cuMemPoolExportPointer", .address = block);
	OK(call(&copy, imported, (struct cudaMemPoolPtrExportData *)&data));
	SAW(alloc, ipc, .address = N(copy), .size = 5500, .object = N(imported));
	free_block((CUdeviceptr)copy);
	free_later(block);
	destroy_pool(imported);
	destroy_pool(pool);
}

/* --- foreign memory ------------------------------------------------------------------------------- */

RUNTIME_SNIPPET(cudaIpcOpenMemHandle, cuIpcOpenMemHandle_v2)
{
	CUipcMemHandle handle = foreign_handle();
	cudaIpcMemHandle_t same;
	void *address;

	memcpy(&same, &handle, sizeof(same));
	OK(call(&address, same, cudaIpcMemLazyEnablePeerAccess));
	SAW(alloc, ipc, .address = N(address), .size = 7000);
	close_ipc((CUdeviceptr)address);
}

RUNTIME_SNIPPET(cudaIpcCloseMemHandle, cuIpcCloseMemHandle)
{
	CUdeviceptr address;

	OK(D(cuIpcOpenMemHandle_v2)(&address, foreign_handle(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	SAW(alloc, ipc, .api = "cuIpcOpenMemHandle_v2", .address = address, .size = 7000);
	OK(call((void *)address));
	SAW(free, ipc, .address = address);
}

RUNTIME_SNIPPET(cudaImportExternalMemory, cuImportExternalMemory)
{
	cudaExternalMemory_t memory;

	OK(call(&memory, &(struct cudaExternalMemoryHandleDesc){ .type = cudaExternalMemoryHandleTypeOpaqueFd, .size = MIB }));
	SAW(alloc, external, .address = N(memory), .size = MIB);
	destroy_external((CUexternalMemory)memory);
}

RUNTIME_SNIPPET(cudaExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)
{
	CUexternalMemory memory = import_external();
	void *address;

	OK(call(&address, (cudaExternalMemory_t)memory, &(struct cudaExternalMemoryBufferDesc){ .size = 4096 }));
	SAW(alloc, external_view, .address = N(address), .size = 4096, .object = N(memory));
	free_block((CUdeviceptr)address);
	destroy_external(memory);
}

RUNTIME_SNIPPET(cudaDestroyExternalMemory, cuDestroyExternalMemory)
{
	CUexternalMemory memory = import_external();

	OK(call((cudaExternalMemory_t)memory));
	SAW(free, external, .address = N(memory));
}

/* --- graphs --------------------------------------------------------------------------------------- */

RUNTIME_SNIPPET(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode)
{
	struct cudaMemAllocNodeParams about = {
		.poolProps = { .allocType = cudaMemAllocationTypePinned, .location = { .type = cudaMemLocationTypeDevice } },
		.bytesize = 5600,
	};
	CUgraph graph;
	cudaGraphNode_t node;

	OK(D(cuGraphCreate)(&graph, 0));
	OK(call(&node, graph, NULL, 0, &about));
	SAW(node_alloc, graph, .address = N(about.dptr), .size = 5600);
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

/* --- devices -------------------------------------------------------------------------------------- */

/* What is seen of a set-up that the runtime's own functions do. */
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

/* Ends device 1's context, which the runtime has made and is current, and goes back to device 0. */
static void back(void)
{
	CUcontext context = current_context();

	OK(cudaDeviceReset());
	SAW(free, context, .api = SEEN_AS(cudaDeviceReset, cuDevicePrimaryCtxReset_v2), .address = N(context));
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
	SAW(alloc, context, .api = SEEN_AS(cudaSetDevice, cuDevicePrimaryCtxRetain), .address = N(context), .device = 1,
		.size = CONTEXT_BYTES);
	OK(cudaMalloc(&block, 5700));
	SAW(alloc, device, .api = SEEN_AS(cudaMalloc, cuMemAlloc_v2), .address = N(block), .size = 5700, .device = 1);
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
