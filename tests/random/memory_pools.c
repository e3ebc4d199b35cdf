/* SPDX-License-Identifier: MIT */
/* Actions on stream-ordered memory, pools and streams. */
#include "random_calls.h"

/*
 * Takes a stream out of its bag, so that no other thread destroys it. Or returns the default stream
 * or the thread's own stream, and false.
 */
static bool take_stream(struct worker *worker, struct resource *ret_stream)
{
	static const CUstream special[] = { NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };

	if (!one_in(worker, 3) && take(worker, STREAM, ret_stream))
		return true;
	*ret_stream = (struct resource){ .address = (uintptr_t)special[draw(worker, 3)] };
	return false;
}

static void keep(struct worker *worker, CUdeviceptr address, const void *pointer, size_t size_bytes)
{
	(void)worker;
	put(POOLED,
		&(struct resource){
			.address = address ? address : (uintptr_t)pointer, .size_bytes = size_bytes });
}

ACTION(25, allocate_async)
{
	size_t size_bytes = one_in(worker, 20) ? draw_wrong_size(worker) : draw_size(worker);
	CUdeviceptr address = 0;
	struct resource stream;
	void *pointer = NULL;
	bool done, is_taken;

	if (!bag_has_space(POOLED))
		return release_async(worker);
	is_taken = take_stream(worker, &stream);
	switch (draw(worker, 4)) {
	case 0:
		done = CALL(worker, cuMemAllocAsync(&address, size_bytes, (CUstream)stream.address));
		break;
	case 1:
		done = CALL(worker, cuMemAllocAsync_ptsz(&address, size_bytes, (CUstream)stream.address));
		break;
	default:
		done = CALL(worker, cudaMallocAsync(&pointer, size_bytes, (cudaStream_t)stream.address));
	}
	if (done)
		keep(worker, address, pointer, size_bytes);
	if (is_taken)
		put(STREAM, &stream);
}

ACTION(25, release_async)
{
	struct resource block, stream;
	bool done, is_taken;

	if (!take(worker, POOLED, &block))
		return;
	is_taken = take_stream(worker, &stream);
	switch (draw(worker, 5)) {
	case 0:
		done = CALL(worker, cuMemFreeAsync(block.address, (CUstream)stream.address));
		break;
	case 1:
		done = CALL(worker, cuMemFreeAsync_ptsz(block.address, (CUstream)stream.address));
		break;
	case 2:
		done = CALL(worker, cudaFreeAsync((void *)block.address, (cudaStream_t)stream.address));
		break;
	case 3:
		done = CALL(worker, cuMemFree_v2(block.address));
		break;
	default:
		done = CALL(worker, cudaFree((void *)block.address));
	}
	if (!done)
		put(POOLED, &block);
	if (is_taken)
		put(STREAM, &stream);
}

/* Allocates from a pool of the host or of any device, which may differ from the stream's device. */
ACTION(8, allocate_from_pool)
{
	size_t size_bytes = draw_size(worker);
	struct resource pool = { 0 }, stream;
	CUdeviceptr address = 0;
	void *pointer = NULL;
	bool done, is_taken, has_pool;

	if (!bag_has_space(POOLED))
		return release_async(worker);
	has_pool = !one_in(worker, 4) && take(worker, POOL, &pool);
	if (!has_pool)
		cuDeviceGetDefaultMemPool((CUmemoryPool *)&pool.address, (int)draw(worker, DEVICES));
	is_taken = take_stream(worker, &stream);
	if (one_in(worker, 2))
		done = CALL(worker,
			cuMemAllocFromPoolAsync(&address, size_bytes, (CUmemoryPool)pool.address,
				(CUstream)stream.address));
	else
		done = CALL(worker,
			cudaMallocFromPoolAsync(&pointer, size_bytes, (cudaMemPool_t)pool.address,
				(cudaStream_t)stream.address));
	if (done)
		keep(worker, address, pointer, size_bytes);
	if (is_taken)
		put(STREAM, &stream);
	if (has_pool)
		put(POOL, &pool);
}

ACTION(3, create_pool)
{
	CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)draw(worker, DEVICES) },
		.maxSize = one_in(worker, 4) ? 4 * UNIT_BYTES : 0,
	};
	struct resource pool = { .device = properties.location.id };

	if (one_in(worker, 4)) {
		properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
		pool.device = -1;
	}
	if (!bag_has_space(POOL))
		return destroy_pool(worker);
	if (one_in(worker, 2)
			? CALL(worker, cuMemPoolCreate((CUmemoryPool *)&pool.address, &properties))
			: CALL(worker,
				  cudaMemPoolCreate((cudaMemPool_t *)&pool.address,
					  (const struct cudaMemPoolProps *)&properties)))
		put(POOL, &pool);
}

/* Destroys a pool, whether or not blocks of it are alive. */
ACTION(2, destroy_pool)
{
	struct resource pool;

	if (!take(worker, POOL, &pool))
		return;
	if (!(one_in(worker, 2) ? CALL(worker, cuMemPoolDestroy((CUmemoryPool)pool.address))
							: CALL(worker, cudaMemPoolDestroy((cudaMemPool_t)pool.address))))
		put(POOL, &pool);
}

/* Sets the default pool of a device. */
ACTION(2, set_device_pool)
{
	struct resource pool;
	CUmemoryPool usual;
	int device = (int)draw(worker, DEVICES);

	if (one_in(worker, 3)) {
		cuDeviceGetDefaultMemPool(&usual, device);
		CALL(worker, cuDeviceSetMemPool(device, usual));
	} else if (take(worker, POOL, &pool)) {
		CALL(worker, cuDeviceSetMemPool(device, (CUmemoryPool)pool.address));
		put(POOL, &pool);
	}
}

ACTION(3, trim_pool)
{
	struct resource pool;
	uint64_t threshold_bytes = one_in(worker, 2) ? UINT64_MAX : 0;

	if (!take(worker, POOL, &pool))
		return;
	if (one_in(worker, 2))
		CALL(worker, cuMemPoolTrimTo((CUmemoryPool)pool.address, draw_size(worker)));
	else
		CALL(worker,
			cuMemPoolSetAttribute((CUmemoryPool)pool.address, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
				&threshold_bytes));
	put(POOL, &pool);
}

static CUmemoryPool imported_pool;

/* Sometimes imports another process's pool again. The older pool stays, because of its blocks. */
ACTION(2, import_pool)
{
	CUmemoryPool pool;

	lock_exclusively(worker);
	if (!CALL(worker,
			cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)other_process.pool_file,
				CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)))
		return;
	if (imported_pool)
		CALL(worker, cuMemPoolDestroy(imported_pool));
	imported_pool = pool;
}

ACTION(4, import_pool_block)
{
	CUdeviceptr address;

	lock_exclusively(worker);
	/* The driver returns the size and the device only to a thread with a context. */
	update_current_context(worker);
	if (!imported_pool || !worker->current || !bag_has_space(POOLED))
		return;
	if (CALL(worker,
			cuMemPoolImportPointer(&address, imported_pool,
				&other_process.blocks[draw(worker, SHARED_COUNT)])))
		keep(worker, address, NULL, 0);
}

ACTION(3, invalid_pool_calls)
{
	CUmemPoolProps nowhere = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 99 } };
	CUmemPoolPtrExportData data = { { 1 } };
	CUmemoryPool pool = NULL;
	CUdeviceptr address;

	switch (draw(worker, 9)) {
	case 0:
		CALL(worker, cuMemPoolCreate(&pool, &nowhere));
		break;
	case 1:
		CALL(worker, cuMemPoolCreate(NULL, NULL));
		break;
	case 2:
		CALL(worker, cuMemPoolDestroy((CUmemoryPool)worker));
		break;
	case 3:
		cuDeviceGetDefaultMemPool(&pool, 0);
		CALL(worker, cuMemPoolDestroy(pool));
		break;
	case 4:
		CALL(worker, cuMemAllocFromPoolAsync(&address, 100, NULL, NULL));
		break;
	case 5:
		CALL(worker, cuMemAllocFromPoolAsync(&address, 100, (CUmemoryPool)worker, NULL));
		break;
	case 6:
		CALL(worker, cuMemAllocAsync(NULL, 100, NULL));
		break;
	case 7:
		CALL(worker, cuMemAllocAsync(&address, 100, (CUstream)worker));
		break;
	case 8:
		cuDeviceGetDefaultMemPool(&pool, 0);
		CALL(worker, cuMemPoolImportPointer(&address, pool, &data));
		break;
	}
}

ACTION(3, create_stream)
{
	struct resource stream = { 0 };

	if (!bag_has_space(STREAM))
		return destroy_stream(worker);
	if (!CALL(worker, cuStreamCreate((CUstream *)&stream.address, CU_STREAM_NON_BLOCKING)))
		return;
	update_current_context(worker);
	stream.context = worker->current;
	put(STREAM, &stream);
}

ACTION(2, destroy_stream)
{
	struct resource stream;

	if (take(worker, STREAM, &stream))
		CALL(worker, cuStreamDestroy_v2((CUstream)stream.address));
}
