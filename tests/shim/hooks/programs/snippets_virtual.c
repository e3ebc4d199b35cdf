/* SPDX-License-Identifier: MIT */
/* Memory pools, virtual memory and multicast. See snippets.h. */
#include "snippets.h"

#include <unistd.h>

/* Memory pools. */

/* Describes a pool that other processes can import. */
static const CUmemPoolProps shared_pool = {
	.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

CUmemoryPool make_pool(void)
{
	CUmemoryPool pool = NULL;

	OK(D(cuMemPoolCreate)(&pool, &shared_pool));
	SAW(create, pool, .api = "cuMemPoolCreate", .address = N(pool));
	return pool;
}

void destroy_pool(CUmemoryPool pool)
{
	OK(D(cuMemPoolDestroy)(pool));
	SAW(destroy, pool, .api = "cuMemPoolDestroy", .address = N(pool));
}

/* Returns a file descriptor, which the caller closes. */
static int export_pool(CUmemoryPool pool)
{
	int file = -1;

	OK(D(cuMemPoolExportToShareableHandle)(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		0));
	SAW(export, pool, .api = "cuMemPoolExportToShareableHandle", .address = N(pool));
	return file;
}

CUmemoryPool import_pool(CUmemoryPool pool)
{
	int file = export_pool(pool);
	CUmemoryPool imported = NULL;

	OK(D(cuMemPoolImportFromShareableHandle)(&imported, (void *)(intptr_t)file,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(create, pool, .api = "cuMemPoolImportFromShareableHandle", .address = N(imported),
		.object = 1);
	close(file);
	return imported;
}

static CUdeviceptr block_of_pool(CUmemoryPool pool)
{
	CUdeviceptr block = 0;

	OK(D(cuMemAllocFromPoolAsync)(&block, 6000, pool, NULL));
	SAW(alloc, pool, .api = "cuMemAllocFromPoolAsync", .address = block, .size = 6000,
		.object = N(pool));
	return block;
}

SNIPPET(cuMemPoolCreate)
{
	CUmemoryPool pool;

	OK(call(&pool, &shared_pool));
	SAW(create, pool, .address = N(pool));
	destroy_pool(pool);
}

SNIPPET(cuMemPoolDestroy)
{
	CUmemoryPool pool = make_pool();

	OK(call(pool));
	SAW(destroy, pool, .address = N(pool));
	AGAIN(pool, call(pool), .address = N(pool));
}

SNIPPET(cuMemPoolTrimTo)
{
	CUmemoryPool pool = make_pool();

	OK(call(pool, 12345));
	SAW(trim, pool, .address = N(pool), .size = 12345);
	destroy_pool(pool);
}

SNIPPET(cuMemPoolSetAttribute)
{
	CUmemoryPool pool = make_pool();
	cuuint64_t threshold = 7 * MIB, zero = 0;
	int off = 0;

	OK(call(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	SAW(set, pool, .address = N(pool), .size = 7 * MIB,
		.object = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
	OK(call(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	SAW(set, pool, .address = N(pool), .object = CU_MEMPOOL_ATTR_USED_MEM_HIGH);
	OK(call(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
	SAW(set, pool, .address = N(pool), .object = CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC);
	destroy_pool(pool);
}

SNIPPET(cuMemPoolExportToShareableHandle)
{
	CUmemoryPool pool = make_pool();
	int file = -1;

	OK(call(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(export, pool, .address = N(pool));
	close(file);
	destroy_pool(pool);
}

SNIPPET(cuMemPoolImportFromShareableHandle)
{
	CUmemoryPool pool = make_pool(), imported;
	int file = export_pool(pool);

	OK(call(&imported, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(create, pool, .address = N(imported), .object = 1);
	close(file);
	destroy_pool(imported);
	destroy_pool(pool);
}

SNIPPET(cuMemPoolExportPointer)
{
	CUmemoryPool pool = make_pool();
	CUdeviceptr block = block_of_pool(pool);
	CUmemPoolPtrExportData data;

	OK(call(&data, block));
	SAW(export, device, .address = block);
	free_later(block);
	destroy_pool(pool);
}

SNIPPET(cuMemPoolImportPointer)
{
	CUmemoryPool pool = make_pool(), imported = import_pool(pool);
	CUdeviceptr block = block_of_pool(pool), copy;
	CUmemPoolPtrExportData data;

	OK(D(cuMemPoolExportPointer)(&data, block));
	SAW(export, device, .api = "cuMemPoolExportPointer", .address = block);
	OK(call(&copy, imported, &data));
	SAW(alloc, ipc, .address = copy, .size = 6000, .object = N(imported));
	free_later(copy);
	free_later(block);
	destroy_pool(imported);
	destroy_pool(pool);
}

/* Virtual memory. */

static const CUmemAllocationProp memory_of_device_0 = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

CUmemGenericAllocationHandle make_memory(void)
{
	CUmemGenericAllocationHandle handle = 0;

	OK(D(cuMemCreate)(&handle, UNIT, &memory_of_device_0, 0));
	SAW(alloc, vmm, .api = "cuMemCreate", .address = handle, .size = UNIT);
	return handle;
}

void release_memory(CUmemGenericAllocationHandle handle)
{
	OK(D(cuMemRelease)(handle));
	SAW(free, vmm, .api = "cuMemRelease", .address = handle);
}

static CUdeviceptr reserve(size_t size_bytes)
{
	CUdeviceptr address = 0;

	OK(D(cuMemAddressReserve)(&address, size_bytes, 0, 0, 0));
	SAW(create, reservation, .api = "cuMemAddressReserve", .address = address, .size = size_bytes);
	return address;
}

static void unreserve(CUdeviceptr address, size_t size_bytes)
{
	OK(D(cuMemAddressFree)(address, size_bytes));
	SAW(destroy, reservation, .api = "cuMemAddressFree", .address = address, .size = size_bytes);
}

static void map(CUdeviceptr address, CUmemGenericAllocationHandle handle)
{
	OK(D(cuMemMap)(address, UNIT, 0, handle, 0));
	SAW(map, vmm, .api = "cuMemMap", .address = address, .size = UNIT, .object = handle);
}

static void unmap(CUdeviceptr address, size_t size_bytes)
{
	OK(D(cuMemUnmap)(address, size_bytes));
	SAW(unmap, vmm, .api = "cuMemUnmap", .address = address, .size = size_bytes);
}

SNIPPET(cuMemAddressReserve)
{
	CUdeviceptr address;

	OK(call(&address, 3 * UNIT, 0, 0, 0));
	SAW(create, reservation, .address = address, .size = 3 * UNIT);
	unreserve(address, 3 * UNIT);
}

SNIPPET(cuMemAddressFree)
{
	CUdeviceptr address = reserve(UNIT);

	OK(call(address, UNIT));
	SAW(destroy, reservation, .address = address, .size = UNIT);
	AGAIN(reservation, call(address, UNIT), .address = address, .size = UNIT);
}

SNIPPET(cuMemCreate)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp other = memory_of_device_0;

	OK(call(&handle, 3 * UNIT, &memory_of_device_0, 0));
	SAW(alloc, vmm, .address = handle, .size = 3 * UNIT);
	release_memory(handle);
	other.location.id = 1;
	OK(call(&handle, UNIT, &other, 0));
	SAW(alloc, vmm, .address = handle, .size = UNIT, .device = 1);
	release_memory(handle);
	other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	other.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
	OK(call(&handle, UNIT, &other, 0));
	SAW(alloc, vmm_host, .address = handle, .size = UNIT);
	release_memory(handle);
}

SNIPPET(cuMemRelease)
{
	CUmemGenericAllocationHandle handle = make_memory();

	OK(call(handle));
	SAW(free, vmm, .address = handle);
	AGAIN(vmm, call(handle), .address = handle);
}

SNIPPET(cuMemRetainAllocationHandle)
{
	CUmemGenericAllocationHandle handle = make_memory(), again;
	CUdeviceptr address = reserve(UNIT);

	map(address, handle);
	OK(call(&again, (void *)address));
	SAW(retain, vmm, .address = again, .object = address);
	release_memory(handle);
	unmap(address, UNIT);
	release_memory(again);
	unreserve(address, UNIT);
}

SNIPPET(cuMemMap)
{
	CUmemGenericAllocationHandle handle = make_memory();
	CUdeviceptr address = reserve(UNIT);

	OK(call(address, UNIT, 0, handle, 0));
	SAW(map, vmm, .address = address, .size = UNIT, .object = handle);
	/* Mapped memory stays live. */
	release_memory(handle);
	unmap(address, UNIT);
	unreserve(address, UNIT);
}

SNIPPET(cuMemUnmap)
{
	CUmemGenericAllocationHandle handle = make_memory();
	CUdeviceptr address = reserve(2 * UNIT);

	map(address, handle);
	map(address + UNIT, handle);
	release_memory(handle);
	/* Unmaps both mappings at once. */
	OK(call(address, 2 * UNIT));
	SAW(unmap, vmm, .address = address, .size = 2 * UNIT);
	AGAIN(vmm, call(address, 2 * UNIT), .address = address, .size = 2 * UNIT);
	unreserve(address, 2 * UNIT);
}

SNIPPET(cuMemExportToShareableHandle)
{
	CUmemGenericAllocationHandle handle = make_memory();
	int file = -1;

	OK(call(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(export, vmm, .address = handle);
	close(file);
	release_memory(handle);
}

SNIPPET(cuMemImportFromShareableHandle)
{
	CUmemGenericAllocationHandle handle = make_memory(), imported;
	CUdeviceptr address = reserve(UNIT);
	int file = -1;

	OK(D(cuMemExportToShareableHandle)(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	SAW(export, vmm, .api = "cuMemExportToShareableHandle", .address = handle);
	OK(call(&imported, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	SAW(alloc, vmm_imported, .address = imported);
	close(file);
	map(address, imported);
	unmap(address, UNIT);
	release_memory(imported);
	release_memory(handle);
	unreserve(address, UNIT);
}

SNIPPET(cuMemGetHandleForAddressRange)
{
	/* A handle covers whole pages only. */
	CUdeviceptr block = make_block(2 * UNIT);
	int file = -1;

	OK(call(&file, block, 2 * UNIT, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	SAW(export, device, .address = block, .size = 2 * UNIT);
	close(file);
	free_block(block);
}

/* Multicast objects. */

/* Describes a multicast object of one device, so that one process can complete it. */
static const CUmulticastObjectProp one_device = {
	.numDevices = 1,
	.size = 2 * UNIT,
	.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
};

static CUmemGenericAllocationHandle make_multicast(void)
{
	CUmemGenericAllocationHandle handle = 0;

	OK(D(cuMulticastCreate)(&handle, &one_device));
	SAW(alloc, multicast, .api = "cuMulticastCreate", .address = handle, .size = 2 * UNIT);
	OK(D(cuMulticastAddDevice)(handle, 0));
	return handle;
}

/* Events of multicast objects have the offset in the field `stream`. */
static void unbind(CUmemGenericAllocationHandle multicast, size_t offset)
{
	OK(D(cuMulticastUnbind)(multicast, 0, offset, UNIT));
	SAW(unbind, multicast, .api = "cuMulticastUnbind", .address = multicast, .size = UNIT,
		.stream = offset);
}

SNIPPET(cuMulticastCreate)
{
	CUmemGenericAllocationHandle handle;

	OK(call(&handle, &one_device));
	SAW(alloc, multicast, .address = handle, .size = 2 * UNIT);
	release_memory(handle);
}

SNIPPET(cuMulticastBindMem)
{
	CUmemGenericAllocationHandle multicast = make_multicast(), memory = make_memory();

	OK(call(multicast, UNIT, memory, 0, UNIT, 0));
	/* -2: the call does not name the device. It is the device of the memory. */
	SAW(bind, multicast, .address = multicast, .size = UNIT, .object = memory, .stream = UNIT,
		.device = -2);
	/* Bound memory stays live. */
	release_memory(memory);
	unbind(multicast, UNIT);
	release_memory(multicast);
}

SNIPPET(cuMulticastBindMem_v2)
{
	CUmemGenericAllocationHandle multicast = make_multicast(), memory = make_memory();

	OK(call(multicast, 0, UNIT, memory, 0, UNIT, 0));
	SAW(bind, multicast, .address = multicast, .size = UNIT, .object = memory, .stream = UNIT);
	release_memory(memory);
	/* The end of the object also ends the binding. */
	release_memory(multicast);
}

/* Expects the event of a bound address. Then ends all objects. */
static void saw_bound_address(CUmemGenericAllocationHandle multicast,
	CUmemGenericAllocationHandle memory, CUdeviceptr address, int device)
{
	SAW(bind_address, multicast, .address = multicast, .size = UNIT, .object = address,
		.stream = UNIT, .device = device);
	unmap(address, UNIT);
	release_memory(memory);
	unbind(multicast, UNIT);
	release_memory(multicast);
	unreserve(address, UNIT);
}

SNIPPET(cuMulticastBindAddr)
{
	CUmemGenericAllocationHandle multicast = make_multicast(), memory = make_memory();
	CUdeviceptr address = reserve(UNIT);

	map(address, memory);
	OK(call(multicast, UNIT, address, UNIT, 0));
	saw_bound_address(multicast, memory, address, -2);
}

SNIPPET(cuMulticastBindAddr_v2)
{
	CUmemGenericAllocationHandle multicast = make_multicast(), memory = make_memory();
	CUdeviceptr address = reserve(UNIT);

	map(address, memory);
	OK(call(multicast, 0, UNIT, address, UNIT, 0));
	saw_bound_address(multicast, memory, address, 0);
}

SNIPPET(cuMulticastUnbind)
{
	CUmemGenericAllocationHandle multicast = make_multicast(), memory = make_memory();

	OK(D(cuMulticastBindMem)(multicast, 0, memory, 0, UNIT, 0));
	SAW(bind, multicast, .api = "cuMulticastBindMem", .address = multicast, .size = UNIT,
		.object = memory, .device = -2);
	OK(call(multicast, 0, 0, UNIT));
	SAW(unbind, multicast, .address = multicast, .size = UNIT);
	AGAIN(multicast, call(multicast, 0, 0, UNIT), .address = multicast, .size = UNIT);
	release_memory(memory);
	release_memory(multicast);
}
