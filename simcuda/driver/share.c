/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Memory of others: of another process (IPC) and of another API (external memory). What is imported
 * has the size and the lifetime of the real thing, but its own content: nothing is shared.
 */

struct ipc_handle {
	uint64_t magic;
	int64_t process;
	uint64_t address;
	uint64_t size_bytes;
};

_Static_assert(sizeof(struct ipc_handle) <= sizeof(CUipcMemHandle), "what a handle says fits into it");

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
		struct ipc_handle handle = { IPC_MAGIC, getpid(), block->range.start,
					     block->range.size_bytes };
		memset(ret_handle, 0, sizeof(*ret_handle));
		memcpy(ret_handle, &handle, sizeof(handle));
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

/* The block under which this exporter's memory is open already; NULL when it is not. */
static struct sim_block *find_open(uint64_t owner)
{
	for (size_t i = 0; i < sim_driver.blocks.count; i++) {
		struct sim_block *block = (struct sim_block *)sim_driver.blocks.items[i];
		if (block->space == SIM_SPACE_IPC && block->owner == owner)
			return block;
	}
	return NULL;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle opaque_handle, unsigned int flags)
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

	sim_lock();
	uint64_t owner = (uint64_t)handle.process << 47 ^ handle.address;
	struct sim_block *block = find_open(owner);
	if (!block) {
		block = sim_block_new(SIM_SPACE_IPC, handle.size_bytes);
		if (block) {
			block->context = context;
			block->device = context->device;
			block->owner = owner;
		}
	}
	if (block) {
		block->references++;
		*ret_address = block->range.start;
	}
	sim_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
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

/* --- memory of other APIs ------------------------------------------------------------------------- */

struct CUextMemory_st {
	size_t size_bytes;
};

CUresult cuImportExternalMemory(CUexternalMemory *ret_memory,
				const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_memory || !descriptor || descriptor->size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUextMemory_st *memory = malloc(sizeof(*memory));
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->size_bytes = descriptor->size;
	*ret_memory = memory;
	return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ret_address, CUexternalMemory memory,
					 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_address || !memory || !descriptor || descriptor->size == 0 || descriptor->flags != 0 ||
	    descriptor->offset > memory->size_bytes ||
	    descriptor->size > memory->size_bytes - descriptor->offset)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	struct sim_block *block = sim_block_new(SIM_SPACE_EXTERNAL, descriptor->size);
	if (block) {
		block->context = context;
		block->device = context->device;
		*ret_address = block->range.start;
	}
	sim_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
	if (!memory)
		return CUDA_ERROR_INVALID_HANDLE;
	free(memory);
	return CUDA_SUCCESS;
}
