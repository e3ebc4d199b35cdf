/* SPDX-License-Identifier: MIT */
/* Actions on linear memory of the device and of the host. */
#include <stdlib.h>

#include "random_calls.h"

static void keep(struct worker *worker, enum resource_kind kind, uint64_t address,
	size_t size_bytes)
{
	update_current_context(worker);
	if (address)
		put(kind,
			&(struct resource){ .address = address,
				.size_bytes = size_bytes,
				.context = worker->current,
				.device = worker->device });
}

ACTION(30, allocate)
{
	size_t size_bytes = draw_size(worker);
	void *pointer = NULL;
	CUdeviceptr address = 0;

	if (!bag_has_space(BLOCK))
		return release_block(worker);
	if (one_in(worker, 2) ? CALL(worker, cuMemAlloc_v2(&address, size_bytes))
						  : CALL(worker, cudaMalloc(&pointer, size_bytes)))
		keep(worker, BLOCK, address ? address : (uintptr_t)pointer, size_bytes);
}

ACTION(30, release_block)
{
	struct resource block;

	if (!take(worker, BLOCK, &block))
		return;
	/* The current context may be another context than the block's, or NULL. */
	if (!(one_in(worker, 2) ? CALL(worker, cuMemFree_v2(block.address))
							: CALL(worker, cudaFree((void *)block.address))))
		put(BLOCK, &block);
}

ACTION(10, allocate_managed)
{
	size_t size_bytes = draw_size(worker);
	void *pointer = NULL;
	CUdeviceptr address = 0;
	unsigned flags = one_in(worker, 8) ? 77 : CU_MEM_ATTACH_GLOBAL;

	if (!bag_has_space(BLOCK))
		return release_block(worker);
	if (one_in(worker, 2) ? CALL(worker, cuMemAllocManaged(&address, size_bytes, flags))
						  : CALL(worker, cudaMallocManaged(&pointer, size_bytes, flags)))
		keep(worker, BLOCK, address ? address : (uintptr_t)pointer, size_bytes);
}

ACTION(10, allocate_pitch)
{
	size_t width = 1 + draw(worker, 5000), height = 1 + draw(worker, 300), pitch = 0;
	struct cudaPitchedPtr place = { 0 };
	void *pointer = NULL;
	CUdeviceptr address = 0;
	bool done;

	if (!bag_has_space(BLOCK))
		return release_block(worker);
	switch (draw(worker, 3)) {
	case 0:
		done = CALL(worker,
			cuMemAllocPitch_v2(&address, &pitch, width, height, one_in(worker, 8) ? 5 : 8));
		break;
	case 1:
		done = CALL(worker, cudaMallocPitch(&pointer, &pitch, width, height));
		break;
	default:
		done = CALL(worker, cudaMalloc3D(&place, extent_of(width, height / 8, draw(worker, 8))));
		pointer = place.ptr;
	}
	if (done)
		keep(worker, BLOCK, address ? address : (uintptr_t)pointer, pitch * height);
}

/* Calls the old functions with 32-bit addresses. */
ACTION(10, allocate_low)
{
	unsigned size_bytes = (unsigned)draw(worker, 1 << 20), pitch;
	CUdeviceptr_v1 address = 0;
	void *pointer = NULL;
	uint64_t kind = draw(worker, 3);
	bool done;

	if (!bag_has_space(LOW))
		return release_low(worker);
	if (kind == 0)
		done = CALL(worker, cuMemAlloc(&address, size_bytes));
	else if (kind == 1)
		done = CALL(worker, cuMemAllocPitch(&address, &pitch, size_bytes / 64, 64, 4));
	else
		done = CALL(worker, cuMemAllocHost(&pointer, size_bytes));
	if (!done)
		return;
	update_current_context(worker);
	put(LOW,
		&(struct resource){ .address = kind == 2 ? (uintptr_t)pointer : address,
			.other = kind == 2,
			.context = worker->current,
			.device = worker->device });
}

ACTION(10, release_low)
{
	struct resource low;

	if (!take(worker, LOW, &low))
		return;
	if (!(low.other ? CALL(worker, cuMemFreeHost((void *)low.address))
					: CALL(worker, cuMemFree((CUdeviceptr_v1)low.address))))
		put(LOW, &low);
}

ACTION(10, allocate_pinned)
{
	size_t size_bytes = draw_size(worker);
	void *pointer = NULL;
	bool done = false;

	if (!bag_has_space(PINNED))
		return release_pinned(worker);
	switch (draw(worker, 4)) {
	case 0:
		done = CALL(worker, cuMemHostAlloc(&pointer, size_bytes, CU_MEMHOSTALLOC_PORTABLE));
		break;
	case 1:
		done = CALL(worker, cuMemAllocHost_v2(&pointer, size_bytes));
		break;
	case 2:
		done = CALL(worker, cudaMallocHost(&pointer, size_bytes));
		break;
	case 3:
		done = CALL(worker, cudaHostAlloc(&pointer, size_bytes, cudaHostAllocMapped));
		break;
	}
	if (done)
		keep(worker, PINNED, (uintptr_t)pointer, size_bytes);
}

ACTION(10, release_pinned)
{
	struct resource pinned;

	if (!take(worker, PINNED, &pinned))
		return;
	if (!(one_in(worker, 2) ? CALL(worker, cuMemFreeHost((void *)pinned.address))
							: CALL(worker, cudaFreeHost((void *)pinned.address))))
		put(PINNED, &pinned);
}

/*
 * Registers memory of the program, which stays mapped. Or registers the memory that a handle points
 * to: then the handle of an array is also the address of registered memory. When the handle ends,
 * its memory stays registered. If malloc returns this address for the next handle, the next handle
 * cannot be registered. This depends on other threads' frees, so a run that must be repeatable sets
 * RANDOM_CALLS_WITHOUT_HANDLES.
 */
ACTION(8, register_memory)
{
	static _Alignas(4096) char own[64][4096];
	static const enum resource_kind handles[] = { ARRAY, MIPMAP, EXTERNAL, GRAPHICS, MODULE };
	size_t size_bytes = 1 + draw(worker, sizeof(own[0]));
	void *memory = own[draw(worker, 64)];
	struct resource handle;

	if (!bag_has_space(REGISTERED))
		return unregister_memory(worker);
	if (one_in(worker, 3) && !getenv("RANDOM_CALLS_WITHOUT_HANDLES")) {
		lock_exclusively(worker);
		if (peek(worker, handles[draw(worker, 5)], &handle)) {
			memory = (void *)handle.address;
			size_bytes = 8;
		}
	}
	if (one_in(worker, 2) ? CALL(worker, cuMemHostRegister_v2(memory, size_bytes, 0))
						  : CALL(worker, cudaHostRegister(memory, size_bytes, 0)))
		keep(worker, REGISTERED, (uintptr_t)memory, size_bytes);
}

ACTION(8, unregister_memory)
{
	struct resource memory;

	if (!take(worker, REGISTERED, &memory))
		return;
	if (!(one_in(worker, 2) ? CALL(worker, cuMemHostUnregister((void *)memory.address))
							: CALL(worker, cudaHostUnregister((void *)memory.address))))
		put(REGISTERED, &memory);
}

/*
 * --- invalid calls
 * --------------------------------------------------------------------------------
 */

ACTION(6, invalid_allocations)
{
	size_t size_bytes = draw_wrong_size(worker), pitch;
	CUdeviceptr address = 0;
	void *pointer = NULL;

	switch (draw(worker, 11)) {
	case 0:
		CALL(worker, cuMemAlloc_v2(NULL, 1000));
		break;
	case 1:
		CALL(worker, cudaMalloc(NULL, 1000));
		break;
	case 2:
		CALL(worker, cuMemHostAlloc(NULL, 100, 0));
		break;
	case 3:
		CALL(worker, cuMemHostRegister_v2(NULL, 100, 0));
		break;
	case 4:
		if (CALL(worker, cuMemAlloc_v2(&address, size_bytes)))
			keep(worker, BLOCK, address, size_bytes);
		break;
	case 5:
		/* For zero bytes the runtime returns success and a null address. */
		if (CALL(worker, cudaMalloc(&pointer, size_bytes)))
			keep(worker, BLOCK, (uintptr_t)pointer, size_bytes);
		break;
	case 6:
		if (CALL(worker, cudaMallocHost(&pointer, 0)))
			keep(worker, PINNED, (uintptr_t)pointer, 0);
		break;
	case 7:
		CALL(worker, cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX / 2, 1000, 4));
		break;
	case 8:
		CALL(worker, cudaMallocPitch(&pointer, &pitch, 0, 10));
		break;
	case 9:
		CALL(worker, cuMemAllocPitch_v2(&address, NULL, 10, 10, 4));
		break;
	case 10:
		CALL(worker, cuMemAllocManaged(NULL, 100, CU_MEM_ATTACH_GLOBAL));
		break;
	}
}

/*
 * Frees wrong addresses or NULL. The wrong addresses are odd, and no block begins at an odd
 * address.
 */
ACTION(6, invalid_frees)
{
	struct resource block = { 0 };
	uint64_t odd;

	peek(worker, BLOCK, &block);
	odd = (block.address | 1) + 2 * draw(worker, 100);
	switch (draw(worker, 9)) {
	case 0:
		CALL(worker, cuMemFree_v2(0));
		break;
	case 1:
		CALL(worker, cudaFree(NULL));
		break;
	case 2:
		CALL(worker, cuMemFree_v2(odd));
		break;
	case 3:
		CALL(worker, cudaFree((void *)odd));
		break;
	case 4:
		CALL(worker, cuMemFreeHost((void *)odd));
		break;
	case 5:
		CALL(worker, cuMemFreeHost(NULL));
		break;
	case 6:
		CALL(worker, cudaFreeHost(NULL));
		break;
	case 7:
		CALL(worker, cuMemHostUnregister((void *)odd));
		break;
	case 8:
		CALL(worker, cuMemFreeAsync(one_in(worker, 2) ? 0 : odd, NULL));
		break;
	}
}

/* Takes the lock exclusively: before the second free, another thread could get the address. */
ACTION(3, free_twice)
{
	struct resource resource;

	lock_exclusively(worker);
	if (one_in(worker, 2) && take(worker, BLOCK, &resource)) {
		CALL(worker, cuMemFree_v2(resource.address));
		CALL(worker, cuMemFree_v2(resource.address));
	} else if (take(worker, PINNED, &resource)) {
		CALL(worker, cuMemFreeHost((void *)resource.address));
		CALL(worker, cudaFreeHost((void *)resource.address));
	}
	/* A free fails if no context is current. The block then ends with its context. */
}

/* Frees a resource with the function for another kind. This may succeed. */
ACTION(2, free_of_other_kind)
{
	static const enum resource_kind kinds[] = { BLOCK, POOLED, PINNED, REGISTERED, RANGE, IPC,
		ARRAY };
	enum resource_kind kind = kinds[draw(worker, sizeof(kinds) / sizeof(*kinds))];
	struct resource resource;
	bool done = false;

	lock_exclusively(worker);
	if (!take(worker, kind, &resource))
		return;
	switch (draw(worker, 6)) {
	case 0:
		done = CALL(worker, cuMemFree_v2(resource.address));
		break;
	case 1:
		done = CALL(worker, cuMemFreeAsync(resource.address, NULL));
		break;
	case 2:
		done = CALL(worker, cuMemFreeHost((void *)resource.address));
		break;
	case 3:
		done = CALL(worker, cuMemHostUnregister((void *)resource.address));
		break;
	case 4:
		done = CALL(worker, cuIpcCloseMemHandle(resource.address));
		break;
	case 5:
		done = CALL(worker, cuMipmappedArrayDestroy((CUmipmappedArray)resource.address));
		break;
	}
	if (!done)
		put(kind, &resource);
}
