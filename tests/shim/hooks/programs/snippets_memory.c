/* SPDX-License-Identifier: MIT */
/* Linear, host, stream-ordered and array memory. See snippets.h. */
#include "snippets.h"

#include <sys/mman.h>

/*
 * --- functions for other files
 * --------------------------------------------------------------------
 */

CUdeviceptr make_block(size_t size_bytes)
{
	CUdeviceptr block = 0;

	OK(D(cuMemAlloc_v2)(&block, size_bytes));
	SAW(alloc, device, .api = "cuMemAlloc_v2", .address = block, .size = size_bytes);
	return block;
}

void free_block(CUdeviceptr address)
{
	OK(D(cuMemFree_v2)(address));
	SAW(free, device, .api = "cuMemFree_v2", .address = address);
}

void free_host(void *address)
{
	OK(D(cuMemFreeHost)(address));
	SAW(free, pinned, .api = "cuMemFreeHost", .address = N(address));
}

void free_later(CUdeviceptr address)
{
	OK(D(cuMemFreeAsync)(address, NULL));
	SAW(free, pool, .api = "cuMemFreeAsync", .address = address);
}

void unregister(void *memory)
{
	OK(D(cuMemHostUnregister)(memory));
	SAW(free, registered, .api = "cuMemHostUnregister", .address = N(memory));
}

void *plain_memory(void)
{
	return mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void destroy_array(void *array)
{
	OK(D(cuArrayDestroy)(array));
	SAW(free, array, .api = "cuArrayDestroy", .address = N(array));
}

void destroy_mipmap(void *mipmap)
{
	OK(D(cuMipmappedArrayDestroy)(mipmap));
	SAW(free, array, .api = "cuMipmappedArrayDestroy", .address = N(mipmap));
}

/*
 * --- linear device memory
 * -------------------------------------------------------------------------
 */

SNIPPET(cuMemAlloc)
{
	unsigned block;

	OK(call(&block, 100));
	SAW(alloc, device, .address = block, .size = 100);
	free_block(block);
}

SNIPPET(cuMemAlloc_v2)
{
	CUdeviceptr block;

	OK(call(&block, 1000));
	SAW(alloc, device, .address = block, .size = 1000);
	free_block(block);
}

SNIPPET(cuMemAllocPitch)
{
	unsigned block, pitch;

	OK(call(&block, &pitch, 100, 10, 4));
	SAW(alloc, device, .address = block, .size = (size_t)pitch * 10);
	free_block(block);
}

SNIPPET(cuMemAllocPitch_v2)
{
	CUdeviceptr block;
	size_t pitch;

	OK(call(&block, &pitch, 100, 10, 4));
	SAW(alloc, device, .address = block, .size = pitch * 10);
	free_block(block);
}

SNIPPET(cuMemAllocManaged)
{
	CUdeviceptr block;

	OK(call(&block, 2000, CU_MEM_ATTACH_GLOBAL));
	SAW(alloc, managed, .address = block, .size = 2000);
	free_block(block);
}

SNIPPET(cuMemFree)
{
	unsigned block;

	OK(D(cuMemAlloc)(&block, 110));
	SAW(alloc, device, .api = "cuMemAlloc", .address = block, .size = 110);
	OK(call(block));
	SAW(free, device, .address = block);
	AGAIN(device, call(block), .address = block);
}

SNIPPET(cuMemFree_v2)
{
	CUdeviceptr block = make_block(1100);

	OK(call(block));
	SAW(free, device, .address = block);
	AGAIN(device, call(block), .address = block);
	/* A free of address 0 causes no event. */
	OK(call(0));
}

/*
 * --- host memory
 * ----------------------------------------------------------------------------------
 */

SNIPPET(cuMemAllocHost)
{
	void *block;

	OK(call(&block, 3000));
	SAW(alloc, pinned, .address = N(block), .size = 3000);
	free_host(block);
}

SNIPPET(cuMemAllocHost_v2)
{
	void *block;

	OK(call(&block, 3010));
	SAW(alloc, pinned, .address = N(block), .size = 3010);
	free_host(block);
}

SNIPPET(cuMemHostAlloc)
{
	void *block;

	OK(call(&block, 3100, CU_MEMHOSTALLOC_PORTABLE));
	SAW(alloc, pinned, .address = N(block), .size = 3100);
	free_host(block);
}

SNIPPET(cuMemFreeHost)
{
	void *block;

	OK(D(cuMemHostAlloc)(&block, 3200, 0));
	SAW(alloc, pinned, .api = "cuMemHostAlloc", .address = N(block), .size = 3200);
	OK(call(block));
	SAW(free, pinned, .address = N(block));
	AGAIN(pinned, call(block), .address = N(block));
}

SNIPPET(cuMemHostRegister)
{
	void *memory = plain_memory();

	OK(call(memory, 1 << 16, 0));
	SAW(alloc, registered, .address = N(memory), .size = 1 << 16);
	unregister(memory);
}

SNIPPET(cuMemHostRegister_v2)
{
	void *memory = plain_memory();

	OK(call(memory, 1 << 15, CU_MEMHOSTREGISTER_PORTABLE));
	SAW(alloc, registered, .address = N(memory), .size = 1 << 15);
	unregister(memory);
}

SNIPPET(cuMemHostUnregister)
{
	void *memory = plain_memory();

	OK(D(cuMemHostRegister_v2)(memory, 4096, 0));
	SAW(alloc, registered, .api = "cuMemHostRegister_v2", .address = N(memory), .size = 4096);
	OK(call(memory));
	SAW(free, registered, .address = N(memory));
	AGAIN(registered, call(memory), .address = N(memory));
}

/*
 * --- stream-ordered memory
 * ------------------------------------------------------------------------
 */

/*
 * Makes a stream on device 1 while device 0 is current. Its blocks count for the stream's device.
 */
static CUstream other_stream(CUcontext *ret_context)
{
	CUcontext popped;
	CUstream stream;

	OK(D(cuDevicePrimaryCtxRetain)(ret_context, 1));
	SAW(alloc, context, .api = "cuDevicePrimaryCtxRetain", .address = N(*ret_context), .device = 1,
		.size = CONTEXT_BYTES);
	OK(D(cuCtxPushCurrent_v2)(*ret_context));
	OK(D(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
	OK(D(cuCtxPopCurrent_v2)(&popped));
	return stream;
}

static void end_other_stream(CUstream stream, CUcontext context)
{
	OK(D(cuStreamDestroy_v2)(stream));
	OK(D(cuDevicePrimaryCtxRelease_v2)(1));
	SAW(free, context, .api = "cuDevicePrimaryCtxRelease_v2", .address = N(context));
}

SNIPPET(cuMemAllocAsync)
{
	CUdeviceptr block;
	CUcontext context;
	CUstream stream = other_stream(&context);

	OK(call(&block, 4000, NULL));
	SAW(alloc, pool, .address = block, .size = 4000);
	free_later(block);
	OK(call(&block, 4001, stream));
	SAW(alloc, pool, .address = block, .size = 4001, .device = 1, .stream = N(stream));
	/* The synchronous free also accepts stream-ordered memory. */
	free_block(block);
	end_other_stream(stream, context);
}

SNIPPET(cuMemAllocAsync_ptsz)
{
	CUdeviceptr block;

	OK(call(&block, 4100, NULL));
	SAW(alloc, pool, .address = block, .size = 4100, .stream = OWN);
	free_later(block);
}

static void from_pool(CUresult (*call)(CUdeviceptr *, size_t, CUmemoryPool, CUstream),
	size_t size_bytes, unsigned long long stream)
{
	CUdeviceptr block;
	CUmemoryPool pool, other, made = make_pool();

	OK(D(cuDeviceGetDefaultMemPool)(&pool, 0));
	OK(call(&block, size_bytes, pool, NULL));
	SAW(alloc, pool, .address = block, .size = size_bytes, .object = N(pool), .stream = stream);
	free_later(block);
	OK(call(&block, size_bytes + 1, made, NULL));
	SAW(alloc, pool, .address = block, .size = size_bytes + 1, .object = N(made), .stream = stream);
	free_later(block);
	destroy_pool(made);
	/* The same with a pool of another device. */
	OK(D(cuMemPoolCreate)(&other,
		&(CUmemPoolProps){ .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 } }));
	SAW(create, pool, .api = "cuMemPoolCreate", .address = N(other), .device = 1);
	OK(call(&block, size_bytes + 2, other, NULL));
	SAW(alloc, pool, .address = block, .size = size_bytes + 2, .object = N(other), .device = 1,
		.stream = stream);
	free_later(block);
	OK(D(cuMemPoolDestroy)(other));
	SAW(destroy, pool, .api = "cuMemPoolDestroy", .address = N(other), .device = 1);
}

SNIPPET(cuMemAllocFromPoolAsync)
{
	from_pool(call, 4200, 0);
}

SNIPPET(cuMemAllocFromPoolAsync_ptsz)
{
	from_pool(call, 4300, OWN);
}

/* Uses pools that always exist. Their blocks are host memory or managed memory. */
static void from_place(CUresult (*call)(CUmemoryPool *, CUmemLocation *, CUmemAllocationType),
	CUmemLocationType type, size_t size_bytes)
{
	CUmemoryPool pool;
	CUdeviceptr block;

	OK(call(&pool, &(CUmemLocation){ .type = type }, CU_MEM_ALLOCATION_TYPE_PINNED));
	OK(D(cuMemAllocFromPoolAsync)(&block, size_bytes, pool, NULL));
	SAW(alloc, pool, .api = "cuMemAllocFromPoolAsync", .address = block, .size = size_bytes,
		.object = N(pool), .device = -1);
	OK(D(cuMemFreeAsync)(block, NULL));
	SAW(free, pool, .api = "cuMemFreeAsync", .address = block);
	OK(call(&pool, &(CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE },
		CU_MEM_ALLOCATION_TYPE_MANAGED));
	OK(D(cuMemAllocFromPoolAsync)(&block, size_bytes + 1, pool, NULL));
	SAW(alloc, managed, .api = "cuMemAllocFromPoolAsync", .address = block, .size = size_bytes + 1,
		.object = N(pool));
	OK(D(cuMemFreeAsync)(block, NULL));
	SAW(free, pool, .api = "cuMemFreeAsync", .address = block);
}

SNIPPET(cuMemGetDefaultMemPool)
{
	from_place(call, CU_MEM_LOCATION_TYPE_HOST, 4600);
}

SNIPPET(cuMemGetMemPool)
{
	from_place(call, CU_MEM_LOCATION_TYPE_HOST_NUMA, 4700);
}

static void free_of_pool(CUresult (*call)(CUdeviceptr, CUstream), unsigned long long stream)
{
	CUdeviceptr block;

	OK(D(cuMemAllocAsync)(&block, 4400, NULL));
	SAW(alloc, pool, .api = "cuMemAllocAsync", .address = block, .size = 4400);
	OK(call(block, NULL));
	SAW(free, pool, .address = block, .stream = stream);
	AGAIN(pool, call(block, NULL), .address = block, .stream = stream);
}

SNIPPET(cuMemFreeAsync)
{
	free_of_pool(call, 0);
}

SNIPPET(cuMemFreeAsync_ptsz)
{
	free_of_pool(call, OWN);
}

/*
 * --- arrays
 * ---------------------------------------------------------------------------------------
 */

SNIPPET(cuArrayCreate)
{
	CUarray array;

	OK(call(&array,
		&(CUDA_ARRAY_DESCRIPTOR_v1){
			.Width = 30, .Height = 20, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2 }));
	SAW(alloc, array, .address = N(array), .size = 30 * 20 * 8);
	destroy_array(array);
}

SNIPPET(cuArrayCreate_v2)
{
	CUarray array;

	OK(call(&array,
		&(CUDA_ARRAY_DESCRIPTOR){
			.Width = 100, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 }));
	SAW(alloc, array, .address = N(array), .size = 100);
	destroy_array(array);
}

SNIPPET(cuArray3DCreate)
{
	CUarray array;

	OK(call(&array,
		&(CUDA_ARRAY3D_DESCRIPTOR_v1){
			.Width = 8, .Height = 4, .Depth = 3, .Format = CU_AD_FORMAT_HALF, .NumChannels = 4 }));
	SAW(alloc, array, .address = N(array), .size = 8 * 4 * 3 * 8);
	destroy_array(array);
}

SNIPPET(cuArray3DCreate_v2)
{
	CUarray array;
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = 8, .Height = 4, .Depth = 5, .Format = CU_AD_FORMAT_SIGNED_INT16, .NumChannels = 1
	};

	OK(call(&array, &shape));
	SAW(alloc, array, .address = N(array), .size = 8 * 4 * 5 * 2);
	destroy_array(array);
	/* This array gets its memory later, by a mapping. */
	shape.Flags = CUDA_ARRAY3D_DEFERRED_MAPPING;
	OK(call(&array, &shape));
	SAW(alloc, array, .address = N(array), .size = 0);
	destroy_array(array);
}

SNIPPET(cuArrayDestroy)
{
	CUarray array;

	OK(D(cuArrayCreate_v2)(&array,
		&(CUDA_ARRAY_DESCRIPTOR){
			.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_SIGNED_INT32, .NumChannels = 1 }));
	SAW(alloc, array, .api = "cuArrayCreate_v2", .address = N(array), .size = 64 * 64 * 4);
	OK(call(array));
	SAW(free, array, .address = N(array));
	AGAIN(array, call(array), .address = N(array));
}

static const CUDA_ARRAY3D_DESCRIPTOR levels = { .Width = 16,
	.Height = 8,
	.Format = CU_AD_FORMAT_FLOAT,
	.NumChannels = 1 };
enum { LEVELS_BYTES = (16 * 8 + 8 * 4 + 4 * 2) * 4 };

SNIPPET(cuMipmappedArrayCreate)
{
	CUmipmappedArray mipmap;

	OK(call(&mipmap, &levels, 3));
	SAW(alloc, array, .address = N(mipmap), .size = LEVELS_BYTES);
	destroy_mipmap(mipmap);
}

SNIPPET(cuMipmappedArrayDestroy)
{
	CUmipmappedArray mipmap;

	OK(D(cuMipmappedArrayCreate)(&mipmap, &levels, 3));
	SAW(alloc, array, .api = "cuMipmappedArrayCreate", .address = N(mipmap), .size = LEVELS_BYTES);
	OK(call(mipmap));
	SAW(free, array, .address = N(mipmap));
	AGAIN(array, call(mipmap), .address = N(mipmap));
}
