/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <string.h>
#include <unistd.h>

/*
 * Memory of another process (IPC). Opened memory has the size and the lifetime of real IPC memory
 * but its own content: no data is shared. The process that opens it pays nothing.
 */

struct ipc_handle {
	uint64_t magic;
	int64_t process;
	uint64_t id; /* id of the exporter's block; its address may later belong to another block */
	uint64_t size_bytes;
	int32_t device;
};

_Static_assert(sizeof(struct ipc_handle) <= sizeof(CUipcMemHandle),
	"what a handle says fits into it");

static const uint64_t IPC_MAGIC = 0x63706d6973; /* "simpc" */

CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct sim_block *block = sim_block_find(address);
	if (block && block->space == SIM_SPACE_DEVICE) {
		struct ipc_handle handle = { IPC_MAGIC, getpid(), block->id, block->range.size_bytes,
			block->device->ordinal };
		memset(ret_handle, 0, sizeof(*ret_handle));
		memcpy(ret_handle, &handle, sizeof(handle));
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

/* Returns the memory that was opened for this exporter's block on this device, or NULL. */
static struct sim_block *find_open(uint64_t owner, const struct sim_device *device)
{
	for (size_t i = 0; i < sim_driver.blocks.count; i++) {
		struct sim_block *block = (struct sim_block *)sim_driver.blocks.items[i];
		if (block->space == SIM_SPACE_IPC && block->owner == owner && block->device == device)
			return block;
	}
	return NULL;
}

/* Opens a block. The caller holds the lock. */
static CUresult open_block(const struct ipc_handle *handle, struct CUctx_st *context,
	CUdeviceptr *ret_address)
{
	uint64_t owner = (uint64_t)handle->process << 32 ^ handle->id;
	struct sim_block *block = find_open(owner, context->device);

	/* At most one context of a device may have the block open. */
	if (block && block->context != context)
		return CUDA_ERROR_MAP_FAILED;
	if (!block) {
		block = sim_block_new(SIM_SPACE_IPC, handle->size_bytes);
		if (!block)
			return CUDA_ERROR_MAP_FAILED;
		block->context = context;
		block->device = context->device;
		block->owner = owner;
	}
	block->references++;
	*ret_address = block->range.start;
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle opaque_handle,
	unsigned int flags)
{
	struct CUctx_st *context;
	struct ipc_handle handle;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	memcpy(&handle, &opaque_handle, sizeof(handle));
	if (!ret_address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || handle.magic != IPC_MAGIC ||
		handle.size_bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* A process cannot import from itself. */
	if (handle.process == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sim_device_find(handle.device))
		return CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	result = open_block(&handle, context, ret_address);
	sim_unlock();
	return result;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags)
{
	return cuIpcOpenMemHandle_v2(ret_address, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	struct sim_block *block = sim_block_find_start(address);
	if (!block || block->space != SIM_SPACE_IPC)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (--block->references == 0)
		sim_block_free(block);
	sim_unlock();
	return result;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event)
{
	if (!ret_handle || !event)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret_handle, 0, sizeof(*ret_handle));
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle)
{
	(void)handle;
	return cuEventCreate(ret_event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
}
