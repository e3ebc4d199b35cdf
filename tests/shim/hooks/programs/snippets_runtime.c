/* SPDX-License-Identifier: MIT */
/*
 * The runtime's memory functions (snippets.h). In a program with a static runtime, the recorder
 * sees the driver's functions.
 */
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
	AGAIN(device, call((void *)block), .address = block);
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
	AGAIN(pinned, call(block), .address = N(block));
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
	AGAIN(registered, call(memory), .address = N(memory));
}

/*
 * --- stream-ordered memory
 * ------------------------------------------------------------------------
 */

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

static void from_pool(cudaError_t (*call)(void **, size_t, cudaMemPool_t, cudaStream_t),
	size_t size_bytes, unsigned long long stream)
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
	AGAIN(pool, call((void *)block, NULL), .address = block, .stream = stream);
}

RUNTIME_SNIPPET(cudaFreeAsync, cuMemFreeAsync)
{
	free_of_pool(call, 0);
}

RUNTIME_SNIPPET(cudaFreeAsync_ptsz, cuMemFreeAsync_ptsz)
{
	free_of_pool(call, OWN);
}

/*
 * --- arrays
 * ---------------------------------------------------------------------------------------
 */

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
		&(CUDA_ARRAY_DESCRIPTOR){
			.Width = 50, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 }));
	SAW(alloc, array, .api = "cuArrayCreate_v2", .address = N(array), .size = 50);
	OK(call((cudaArray_t)array));
	SAW(free, array, .address = N(array));
	AGAIN(array, call((cudaArray_t)array), .address = N(array));
}

RUNTIME_SNIPPET(cudaFreeMipmappedArray, cuMipmappedArrayDestroy)
{
	CUmipmappedArray mipmap;

	OK(D(cuMipmappedArrayCreate)(&mipmap,
		&(CUDA_ARRAY3D_DESCRIPTOR){
			.Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 },
		1));
	SAW(alloc, array, .api = "cuMipmappedArrayCreate", .address = N(mipmap), .size = 256);
	OK(call((cudaMipmappedArray_t)mipmap));
	SAW(free, array, .address = N(mipmap));
	AGAIN(array, call((cudaMipmappedArray_t)mipmap), .address = N(mipmap));
}

/*
 * --- pools
 * ----------------------------------------------------------------------------------------
 */

RUNTIME_SNIPPET(cudaMemPoolCreate, cuMemPoolCreate)
{
	cudaMemPool_t pool;

	OK(call(&pool,
		&(struct cudaMemPoolProps){ .allocType = cudaMemAllocationTypePinned,
			.location = { .type = cudaMemLocationTypeDevice, .id = 0 } }));
	SAW(create, pool, .address = N(pool));
	destroy_pool(pool);
}

RUNTIME_SNIPPET(cudaMemPoolDestroy, cuMemPoolDestroy)
{
	CUmemoryPool pool = make_pool();

	OK(call(pool));
	SAW(destroy, pool, .address = N(pool));
	AGAIN(pool, call(pool), .address = N(pool));
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

	OK(D(cuMemPoolExportToShareableHandle)(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		0));
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
	SAW(alloc, pool, .api = "cuMemAllocFromPoolAsync", .address = block, .size = 5500,
		.object = N(pool));
	OK(D(cuMemPoolExportPointer)(&data, block));
	SAW(export, device, .api = "cuMemPoolExportPointer", .address = block);
	OK(call(&copy, imported, (struct cudaMemPoolPtrExportData *)&data));
	SAW(alloc, ipc, .address = N(copy), .size = 5500, .object = N(imported));
	free_block((CUdeviceptr)copy);
	free_later(block);
	destroy_pool(imported);
	destroy_pool(pool);
}

/*
 * --- foreign memory
 * -------------------------------------------------------------------------------
 */

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
	AGAIN(ipc, call((void *)address), .address = address);
}

RUNTIME_SNIPPET(cudaImportExternalMemory, cuImportExternalMemory)
{
	cudaExternalMemory_t memory;

	OK(call(&memory,
		&(struct cudaExternalMemoryHandleDesc){
			.type = cudaExternalMemoryHandleTypeOpaqueFd, .size = MIB }));
	SAW(alloc, external, .address = N(memory), .size = MIB);
	destroy_external((CUexternalMemory)memory);
}

RUNTIME_SNIPPET(cudaExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)
{
	CUexternalMemory memory = import_external();
	void *address;

	OK(call(&address, (cudaExternalMemory_t)memory,
		&(struct cudaExternalMemoryBufferDesc){ .size = 4096 }));
	SAW(alloc, external_view, .address = N(address), .size = 4096, .object = N(memory));
	free_block((CUdeviceptr)address);
	destroy_external(memory);
}

RUNTIME_SNIPPET(cudaDestroyExternalMemory, cuDestroyExternalMemory)
{
	CUexternalMemory memory = import_external();

	OK(call((cudaExternalMemory_t)memory));
	SAW(free, external, .address = N(memory));
	AGAIN(external, call((cudaExternalMemory_t)memory), .address = N(memory));
}
