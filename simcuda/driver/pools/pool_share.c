/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "pool.h"
#include "memory/vmm.h"

/*
 * Pools and their blocks, shared with other processes. A pool is shared by a file descriptor, a
 * block by data that identifies it. Imported memory has the real size and costs the importer
 * nothing, but it has its own content.
 */

struct block_note {
	uint64_t magic;
	int64_t process;
	uint64_t pool_id;
	uint64_t size_bytes;
};

_Static_assert(sizeof(struct block_note) <= sizeof(CUmemPoolPtrExportData),
	"the note fits into the data");

static const uint64_t BLOCK_MAGIC = 0x6b636f6c626d6973; /* "simblock" */

/* The caller holds the lock. */
static CUresult export_pool(struct CUmemPoolHandle_st *pool, int *ret_file)
{
	if (!sim_pool_is_live(pool) || pool->is_imported ||
		!(pool->properties.handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_share_note note = {
		.kind = SIM_SHARE_POOL,
		.id = pool->id,
		.properties = { .type = pool->properties.allocType,
			.requestedHandleTypes = pool->properties.handleTypes,
			.location = pool->properties.location },
	};
	/*
	 * The descriptor keeps no memory alive, so the driver need not know whether it is still open.
	 */
	*ret_file = sim_share_open(&note);
	return *ret_file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolExportToShareableHandle(void *ret_handle, CUmemoryPool pool,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult result = sim_share_check(ret_handle, type, flags);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = export_pool(pool, ret_handle);
	sim_unlock();
	return result;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *ret_pool, void *handle,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	struct sim_share_note note;

	CUresult result = sim_share_check(ret_pool, type, flags);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sim_share_read((int)(intptr_t)handle, &note) || note.kind != SIM_SHARE_POOL)
		return CUDA_ERROR_INVALID_VALUE;

	const CUmemLocation *location = &note.properties.location;
	struct sim_device *device = NULL;
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE) {
		device = sim_device_find(location->id);
		if (!device)
			return CUDA_ERROR_NOT_SUPPORTED;
	}
	sim_lock();
	struct CUmemPoolHandle_st *pool = sim_pool_new(device,
		&(CUmemPoolProps){
			.allocType = note.properties.type,
			.location = *location,
		});
	if (pool) {
		pool->is_imported = true;
		pool->exporter = note.process;
		pool->id = note.id;
		*ret_pool = pool;
	}
	sim_unlock();
	return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *ret_data, CUdeviceptr address)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_data)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	const struct sim_block *block = sim_block_find_start(address);
	bool is_valid = block && block->space == SIM_SPACE_POOL &&
		block->pool->properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
	if (is_valid) {
		struct block_note note = { BLOCK_MAGIC, getpid(), block->pool->id,
			block->range.size_bytes };
		memset(ret_data, 0, sizeof(*ret_data));
		memcpy(ret_data, &note, sizeof(note));
	}
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ret_address, CUmemoryPool pool,
	CUmemPoolPtrExportData *data)
{
	struct block_note note;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_address || !data)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&note, data, sizeof(note));

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (sim_pool_is_live(pool) && pool->is_imported && note.magic == BLOCK_MAGIC &&
		note.process == pool->exporter && note.pool_id == pool->id && note.size_bytes > 0) {
		struct sim_block *block = sim_block_new(SIM_SPACE_IMPORTED, note.size_bytes);
		result = block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (block) {
			block->device = pool->device;
			block->owner = (uintptr_t)pool;
			*ret_address = block->range.start;
		}
	}
	sim_unlock();
	return result;
}
