/* SPDX-License-Identifier: MIT */
/* Memory of other processes and interfaces. See snippets.h. */
#include "snippets.h"

/*
 * --- of other processes
 * ---------------------------------------------------------------------------
 */

/*
 * Returns a handle for memory of another process: a process cannot open its own memory. The
 * simulated driver writes the exporter's process number into the handle, after 8 bytes. Another
 * number there makes the handle belong to another process.
 */
CUipcMemHandle foreign_handle(void)
{
	CUdeviceptr block = make_block(7000);
	CUipcMemHandle handle;
	int64_t process;

	OK(D(cuIpcGetMemHandle)(&handle, block));
	SAW(export, device, .api = "cuIpcGetMemHandle", .address = block);
	free_block(block);
	memcpy(&process, handle.reserved + 8, sizeof(process));
	process++;
	memcpy(handle.reserved + 8, &process, sizeof(process));
	return handle;
}

void close_ipc(CUdeviceptr address)
{
	OK(D(cuIpcCloseMemHandle)(address));
	SAW(free, ipc, .api = "cuIpcCloseMemHandle", .address = address);
}

static void open_twice(CUresult (*call)(CUdeviceptr *, CUipcMemHandle, unsigned))
{
	CUipcMemHandle handle = foreign_handle();
	CUdeviceptr address, again;

	OK(call(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	SAW(alloc, ipc, .address = address, .size = 7000);
	/* The second open adds a reference to the same block. */
	OK(call(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	SAW(alloc, ipc, .address = address, .size = 7000);
	close_ipc(again);
	close_ipc(address);
}

SNIPPET(cuIpcOpenMemHandle)
{
	open_twice(call);
}

SNIPPET(cuIpcOpenMemHandle_v2)
{
	open_twice(call);
}

SNIPPET(cuIpcCloseMemHandle)
{
	CUdeviceptr address;

	OK(D(cuIpcOpenMemHandle_v2)(&address, foreign_handle(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	SAW(alloc, ipc, .api = "cuIpcOpenMemHandle_v2", .address = address, .size = 7000);
	OK(call(address));
	SAW(free, ipc, .address = address);
	AGAIN(ipc, call(address), .address = address);
}

SNIPPET(cuIpcGetMemHandle)
{
	CUdeviceptr block = make_block(7100);
	CUipcMemHandle handle;

	OK(call(&handle, block));
	SAW(export, device, .address = block);
	free_block(block);
}

/*
 * --- of other interfaces
 * --------------------------------------------------------------------------
 */

static const CUDA_EXTERNAL_MEMORY_HANDLE_DESC of_file = {
	.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
	.handle = { .fd = 0 },
	.size = MIB,
};

CUexternalMemory import_external(void)
{
	CUexternalMemory memory = NULL;

	OK(D(cuImportExternalMemory)(&memory, &of_file));
	SAW(alloc, external, .api = "cuImportExternalMemory", .address = N(memory), .size = MIB);
	return memory;
}

void destroy_external(CUexternalMemory memory)
{
	OK(D(cuDestroyExternalMemory)(memory));
	SAW(free, external, .api = "cuDestroyExternalMemory", .address = N(memory));
}

SNIPPET(cuImportExternalMemory)
{
	CUexternalMemory memory;

	OK(call(&memory, &of_file));
	SAW(alloc, external, .address = N(memory), .size = MIB);
	destroy_external(memory);
}

SNIPPET(cuExternalMemoryGetMappedBuffer)
{
	CUexternalMemory memory = import_external();
	CUdeviceptr address;

	OK(call(&address, memory, &(CUDA_EXTERNAL_MEMORY_BUFFER_DESC){ .offset = 4096, .size = 8192 }));
	SAW(alloc, external_view, .address = address, .size = 8192, .object = N(memory));
	destroy_external(memory);
	free_block(address);
}

SNIPPET(cuExternalMemoryGetMappedMipmappedArray)
{
	CUexternalMemory memory = import_external();
	CUmipmappedArray mipmap;

	OK(call(&mipmap, memory,
		&(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC){ .arrayDesc = { .Width = 16,
														  .Height = 16,
														  .Format = CU_AD_FORMAT_FLOAT,
														  .NumChannels = 1 },
			.numLevels = 1 }));
	SAW(alloc, external_array, .address = N(mipmap), .object = N(memory));
	destroy_mipmap(mipmap);
	destroy_external(memory);
}

SNIPPET(cuDestroyExternalMemory)
{
	CUexternalMemory memory = import_external();

	OK(call(memory));
	SAW(free, external, .address = N(memory));
	AGAIN(external, call(memory), .address = N(memory));
}

/*
 * --- of graphics
 * ----------------------------------------------------------------------------------
 */

static void unregister_resource(CUgraphicsResource resource)
{
	OK(D(cuGraphicsUnregisterResource)(resource));
	SAW(free, graphics, .api = "cuGraphicsUnregisterResource", .address = N(resource));
}

SNIPPET(cuGraphicsGLRegisterBuffer)
{
	CUgraphicsResource resource;

	OK(call(&resource, 5, 0));
	SAW(alloc, graphics, .address = N(resource));
	unregister_resource(resource);
}

SNIPPET(cuGraphicsGLRegisterImage)
{
	CUgraphicsResource resource;

	OK(call(&resource, 6, 0x0de1, 0));
	SAW(alloc, graphics, .address = N(resource));
	unregister_resource(resource);
}

SNIPPET(cuGraphicsEGLRegisterImage)
{
	CUgraphicsResource resource;

	OK(call(&resource, &resource, 0));
	SAW(alloc, graphics, .address = N(resource));
	unregister_resource(resource);
}

SNIPPET(cuGraphicsVDPAURegisterVideoSurface)
{
	CUgraphicsResource resource;

	OK(call(&resource, 7, 0));
	SAW(alloc, graphics, .address = N(resource));
	unregister_resource(resource);
}

SNIPPET(cuGraphicsVDPAURegisterOutputSurface)
{
	CUgraphicsResource resource;

	OK(call(&resource, 8, 0));
	SAW(alloc, graphics, .address = N(resource));
	unregister_resource(resource);
}

SNIPPET(cuGraphicsUnregisterResource)
{
	CUgraphicsResource resource;

	OK(D(cuGraphicsGLRegisterBuffer)(&resource, 9, 0));
	SAW(alloc, graphics, .api = "cuGraphicsGLRegisterBuffer", .address = N(resource));
	OK(call(resource));
	SAW(free, graphics, .address = N(resource));
	AGAIN(graphics, call(resource), .address = N(resource));
}
