/* SPDX-License-Identifier: MIT */
/* Actions on arrays, and on memory that belongs to other processes and interfaces. */
#include <string.h>
#include <unistd.h>

#include "random_calls.h"

/* CUDA's header that declares this needs the headers of OpenGL. */
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource, unsigned buffer,
	unsigned flags);

static void keep(struct worker *worker, enum resource_kind kind, uint64_t address, uint64_t other)
{
	update_current_context(worker);
	put(kind,
		&(struct resource){ .address = address,
			.other = other,
			.context = worker->current,
			.device = worker->device });
}

static CUDA_ARRAY3D_DESCRIPTOR draw_shape(struct worker *worker)
{
	static const CUarray_format formats[] = {
		CU_AD_FORMAT_UNSIGNED_INT8,
		CU_AD_FORMAT_SIGNED_INT16,
		CU_AD_FORMAT_HALF,
		CU_AD_FORMAT_FLOAT,
		CU_AD_FORMAT_SIGNED_INT8,
		CU_AD_FORMAT_UNSIGNED_INT32,
		CU_AD_FORMAT_UNORM_INT8X4,
		CU_AD_FORMAT_BC1_UNORM,
		CU_AD_FORMAT_BC7_UNORM,
		CU_AD_FORMAT_NV12,
		CU_AD_FORMAT_UNORM_INT16X4,
	};
	static const unsigned flags[] = { 0, 0, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SPARSE,
		CUDA_ARRAY3D_DEFERRED_MAPPING, CUDA_ARRAY3D_SURFACE_LDST,
		CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP };
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = draw(worker, 300),
		.Height = draw(worker, 300),
		.Depth = draw(worker, 3) ? 0 : draw(worker, 12),
		.Format = formats[draw(worker, sizeof(formats) / sizeof(*formats))],
		.NumChannels = 1u << draw(worker, 3),
		.Flags = flags[draw(worker, sizeof(flags) / sizeof(*flags))],
	};

	/* In NV12 squares of four pixels share their colour, so width and height are even. */
	if (shape.Format == CU_AD_FORMAT_NV12) {
		shape.NumChannels = 3;
		shape.Width = (shape.Width | 1) + 1;
		shape.Height = (shape.Height | 1) + 1;
	}
	return shape;
}

static struct cudaChannelFormatDesc draw_channels(struct worker *worker)
{
	int bits = 8 << draw(worker, 3);

	return (struct cudaChannelFormatDesc){ bits, one_in(worker, 2) ? bits : 0, 0, 0,
		cudaChannelFormatKindSigned };
}

ACTION(10, create_array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = draw_shape(worker);
	CUDA_ARRAY_DESCRIPTOR flat = { shape.Width, shape.Height, shape.Format, shape.NumChannels };
	CUDA_ARRAY_DESCRIPTOR_v1 old_flat = { (unsigned)shape.Width, (unsigned)shape.Height,
		shape.Format, shape.NumChannels };
	CUDA_ARRAY3D_DESCRIPTOR_v1 old = { (unsigned)shape.Width, (unsigned)shape.Height,
		(unsigned)shape.Depth, shape.Format, shape.NumChannels, shape.Flags };
	struct cudaChannelFormatDesc channels = draw_channels(worker);
	uint64_t array = 0;
	bool done = false;

	if (!bag_has_space(ARRAY))
		return destroy_array(worker);
	switch (draw(worker, 6)) {
	case 0:
		done = CALL(worker, cuArrayCreate_v2((CUarray *)&array, &flat));
		break;
	case 1:
		done = CALL(worker, cuArray3DCreate_v2((CUarray *)&array, &shape));
		break;
	case 2:
		done = CALL(worker, cuArrayCreate((CUarray *)&array, &old_flat));
		break;
	case 3:
		done = CALL(worker, cuArray3DCreate((CUarray *)&array, &old));
		break;
	case 4:
		done = CALL(worker,
			cudaMallocArray((cudaArray_t *)&array, &channels, shape.Width, shape.Height, 0));
		break;
	case 5:
		done = CALL(worker,
			cudaMalloc3DArray((cudaArray_t *)&array, &channels,
				extent_of(shape.Width, shape.Height, shape.Depth), 0));
		break;
	}
	if (done)
		keep(worker, ARRAY, array, shape.Flags);
}

ACTION(10, destroy_array)
{
	struct resource array;

	if (take(worker, ARRAY, &array) &&
		!(one_in(worker, 2) ? CALL(worker, cuArrayDestroy((CUarray)array.address))
							: CALL(worker, cudaFreeArray((cudaArray_t)array.address))))
		put(ARRAY, &array);
}

ACTION(6, create_mipmap)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = draw_shape(worker);
	struct cudaChannelFormatDesc channels = draw_channels(worker);
	unsigned levels = (unsigned)draw(worker, 12);
	uint64_t array = 0;

	/* Arrays of planes have only one level, so mipmaps use another format. */
	if (shape.Format == CU_AD_FORMAT_NV12) {
		shape.Format = CU_AD_FORMAT_HALF;
		shape.NumChannels = 4;
	}
	if (!bag_has_space(MIPMAP))
		return destroy_mipmap(worker);
	if (one_in(worker, 2)
			? CALL(worker, cuMipmappedArrayCreate((CUmipmappedArray *)&array, &shape, levels))
			: CALL(worker,
				  cudaMallocMipmappedArray((cudaMipmappedArray_t *)&array, &channels,
					  extent_of(shape.Width, shape.Height, shape.Depth), levels, 0)))
		keep(worker, MIPMAP, array, 0);
}

ACTION(6, destroy_mipmap)
{
	struct resource array;

	if (take(worker, MIPMAP, &array) &&
		!(one_in(worker, 2)
				? CALL(worker, cuMipmappedArrayDestroy((CUmipmappedArray)array.address))
				: CALL(worker, cudaFreeMipmappedArray((cudaMipmappedArray_t)array.address))))
		put(MIPMAP, &array);
}

/* Maps memory to an array that has no memory of its own. */
ACTION(4, map_array)
{
	struct resource array, memory;

	if (!take(worker, ARRAY, &array))
		return;
	if (take(worker, PHYSICAL, &memory)) {
		bool maps = !one_in(worker, 3);
		CUarrayMapInfo info = {
			.resourceType = CU_RESOURCE_TYPE_ARRAY,
			.resource.array = (CUarray)array.address,
			.memOperationType = maps ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP,
			.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
			.memHandle.memHandle = maps ? memory.address : 0,
			.deviceBitMask = 1u << array.device,
		};

		CALL(worker, cuMemMapArrayAsync(&info, 1, NULL));
		put(PHYSICAL, &memory);
	}
	put(ARRAY, &array);
}

/*
 * --- other processes'
 * -----------------------------------------------------------------------------
 */

/*
 * Returns a handle of another process, in the simulated driver's layout: a process may not open its
 * own handles.
 */
static CUipcMemHandle forge(CUipcMemHandle handle, uint64_t number)
{
	int64_t process = getpid() + 1;
	uint64_t id = 1 + number, size_bytes = 4096 * (1 + number);

	memcpy(handle.reserved + 8, &process, sizeof(process));
	memcpy(handle.reserved + 16, &id, sizeof(id));
	memcpy(handle.reserved + 24, &size_bytes, sizeof(size_bytes));
	return handle;
}

/* Opens the same handles repeatedly; each opening counts. Only one context per device can do so. */
ACTION(5, open_ipc)
{
	CUipcMemHandle handle;
	CUdeviceptr address = 0, own;
	void *pointer = NULL;

	if (!bag_has_space(IPC))
		return close_ipc(worker);
	if (!CALL(worker, cuMemAlloc_v2(&own, 512)))
		return;
	if (CALL(worker, cuIpcGetMemHandle(&handle, own))) {
		bool is_own = one_in(worker, 8);

		if (!is_own)
			handle = forge(handle, draw(worker, 3));
		if (one_in(worker, 2)
				? CALL(worker,
					  cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
				: CALL(worker,
					  cudaIpcOpenMemHandle(&pointer, *(cudaIpcMemHandle_t *)&handle,
						  cudaIpcMemLazyEnablePeerAccess)))
			keep(worker, IPC, address ? address : (uintptr_t)pointer, 0);
	}
	CALL(worker, cuMemFree_v2(own));
}

ACTION(5, close_ipc)
{
	struct resource opened;

	if (take(worker, IPC, &opened) &&
		!(one_in(worker, 2) ? CALL(worker, cuIpcCloseMemHandle(opened.address))
							: CALL(worker, cudaIpcCloseMemHandle((void *)opened.address))))
		put(IPC, &opened);
}

ACTION(4, import_external)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
		.size = one_in(worker, 10) ? 0 : draw_units(worker) };
	struct cudaExternalMemoryHandleDesc same = { .type = cudaExternalMemoryHandleTypeOpaqueFd,
		.size = handle.size };
	uint64_t memory = 0;

	if (!bag_has_space(EXTERNAL))
		return destroy_external(worker);
	if (one_in(worker, 2)
			? CALL(worker, cuImportExternalMemory((CUexternalMemory *)&memory, &handle))
			: CALL(worker, cudaImportExternalMemory((cudaExternalMemory_t *)&memory, &same)))
		keep(worker, EXTERNAL, memory, 0);
}

ACTION(4, destroy_external)
{
	struct resource memory;

	if (take(worker, EXTERNAL, &memory) &&
		!(one_in(worker, 2)
				? CALL(worker, cuDestroyExternalMemory((CUexternalMemory)memory.address))
				: CALL(worker, cudaDestroyExternalMemory((cudaExternalMemory_t)memory.address))))
		put(EXTERNAL, &memory);
}

/* Maps imported memory as a block or as an array. Both outlive the imported memory. */
ACTION(4, map_external)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = { .offset = 4096,
		.size = 1 + draw(worker, UNIT_BYTES) };
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image = { .numLevels = 2,
		.arrayDesc = {
			.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4 } };
	struct resource memory;
	CUdeviceptr address;

	if (!take(worker, EXTERNAL, &memory))
		return;
	if (one_in(worker, 2) && bag_has_space(BLOCK)) {
		if (CALL(worker,
				cuExternalMemoryGetMappedBuffer(&address, (CUexternalMemory)memory.address, &part)))
			keep(worker, BLOCK, address, 0);
	} else if (bag_has_space(MIPMAP)) {
		if (CALL(worker,
				cuExternalMemoryGetMappedMipmappedArray((CUmipmappedArray *)&address,
					(CUexternalMemory)memory.address, &image)))
			keep(worker, MIPMAP, address, 0);
	}
	put(EXTERNAL, &memory);
}

ACTION(3, register_graphics)
{
	unsigned number = (unsigned)draw(worker, 50);
	CUgraphicsResource resource = NULL;
	bool done = false;

	if (!bag_has_space(GRAPHICS))
		return unregister_graphics(worker);
	switch (draw(worker, 6)) {
	case 0:
		done = CALL(worker, cuGraphicsGLRegisterBuffer(&resource, number, 0));
		break;
	case 1:
		done = CALL(worker, cuGraphicsGLRegisterImage(&resource, number, 0, 0));
		break;
	case 2:
		done = CALL(worker, cuGraphicsEGLRegisterImage(&resource, (void *)(uintptr_t)number, 0));
		break;
	case 3:
		done = CALL(worker, cuGraphicsVDPAURegisterVideoSurface(&resource, number, 0));
		break;
	case 4:
		done = CALL(worker, cuGraphicsVDPAURegisterOutputSurface(&resource, number, 0));
		break;
	case 5:
		done = CALL(worker,
			cudaGraphicsGLRegisterBuffer((struct cudaGraphicsResource **)&resource, number, 0));
		break;
	}
	if (done)
		keep(worker, GRAPHICS, (uintptr_t)resource, 0);
}

ACTION(3, map_graphics)
{
	struct resource resource;

	if (!take(worker, GRAPHICS, &resource))
		return;
	if (resource.other
			? CALL(worker,
				  cuGraphicsUnmapResources(1, (CUgraphicsResource *)&resource.address, NULL))
			: CALL(worker,
				  cuGraphicsMapResources(1, (CUgraphicsResource *)&resource.address, NULL)))
		resource.other = !resource.other;
	put(GRAPHICS, &resource);
}

ACTION(3, unregister_graphics)
{
	struct resource resource;

	if (take(worker, GRAPHICS, &resource) &&
		!CALL(worker, cuGraphicsUnregisterResource((CUgraphicsResource)resource.address)))
		put(GRAPHICS, &resource);
}

ACTION(4, invalid_array_calls)
{
	CUDA_ARRAY3D_DESCRIPTOR empty = { .Width = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 },
							huge = { .Width = (size_t)1 << 40,
								.Height = (size_t)1 << 30,
								.Format = CU_AD_FORMAT_FLOAT,
								.NumChannels = 4 };
	CUipcMemHandle handle = { { 1 } };
	CUdeviceptr address;
	CUarray array;

	switch (draw(worker, 9)) {
	case 0:
		CALL(worker, cuArray3DCreate_v2(&array, &empty));
		break;
	case 1:
		CALL(worker, cuArray3DCreate_v2(&array, &huge));
		break;
	case 2:
		CALL(worker, cuArrayCreate_v2(NULL, NULL));
		break;
	case 3:
		CALL(worker, cuArrayDestroy((CUarray)worker));
		break;
	case 4:
		CALL(worker, cuMipmappedArrayDestroy((CUmipmappedArray)worker));
		break;
	case 5:
		CALL(worker, cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		break;
	case 6:
		CALL(worker, cuIpcCloseMemHandle((uintptr_t)worker));
		break;
	case 7:
		CALL(worker, cuDestroyExternalMemory((CUexternalMemory)worker));
		break;
	case 8:
		CALL(worker, cudaFreeArray(NULL));
		break;
	}
}
