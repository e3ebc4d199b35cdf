/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>

#include "array.h"
#include "contexts/stream.h"

/*
 * Resources of graphics APIs. There is no OpenGL, EGL or VDPAU behind them. A resource's size
 * follows from its number. Programs can therefore register, map, unmap and unregister resources,
 * and see all errors of these calls. Memory and its mapping exist from map to unmap. The graphics
 * API pays for the memory.
 */

struct CUgraphicsResource_st {
	struct CUgraphicsResource_st *next;
	struct CUctx_st *context;
	bool is_image;
	bool is_mapped;
	size_t buffer_bytes;                /* for a buffer */
	CUDA_ARRAY3D_DESCRIPTOR descriptor; /* for an image */
	struct sim_block *block;            /* while a buffer is mapped */
	struct CUmipmappedArray_st *mipmap; /* while an image is mapped */
};

enum {
	BUFFER_UNIT_BYTES = 1 << 16,
	IMAGE_EDGE = 64,
	/* All flags that describe how a resource is used. Each flag is one bit. */
	KNOWN_FLAGS = CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY | CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD |
		CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST | CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER,
};

static struct CUgraphicsResource_st *resources;

/* The caller holds the lock. */
static bool is_live(const struct CUgraphicsResource_st *resource)
{
	for (const struct CUgraphicsResource_st *live = resources; live; live = live->next)
		if (live == resource)
			return true;
	return false;
}

/* --- registering ------------------------------------------------------------------------------ */

/* Registers a resource. `number` is its name in the graphics API; 0 is not a valid name. */
static CUresult register_resource(CUgraphicsResource *ret_resource, uint64_t number,
	unsigned int flags, bool is_image)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_resource || number == 0 || (flags & ~(unsigned int)KNOWN_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUgraphicsResource_st *resource = calloc(1, sizeof(*resource));
	if (!resource)
		return CUDA_ERROR_OUT_OF_MEMORY;
	resource->context = context;
	resource->is_image = is_image;
	if (is_image)
		resource->descriptor = (CUDA_ARRAY3D_DESCRIPTOR){
			.Width = (size_t)IMAGE_EDGE << number % 4,
			.Height = IMAGE_EDGE,
			.Format = CU_AD_FORMAT_UNSIGNED_INT8,
			.NumChannels = 4,
		};
	else
		resource->buffer_bytes = (1 + number % 16) * BUFFER_UNIT_BYTES;
	sim_lock();
	resource->next = resources;
	resources = resource;
	sim_unlock();
	*ret_resource = resource;
	return CUDA_SUCCESS;
}

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *ret_resource, unsigned int buffer,
	unsigned int flags)
{
	return register_resource(ret_resource, buffer, flags, false);
}

CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *ret_resource, unsigned int image,
	unsigned int target, unsigned int flags)
{
	(void)target;
	return register_resource(ret_resource, image, flags, true);
}

CUresult cuGraphicsEGLRegisterImage(CUgraphicsResource *ret_resource, void *image,
	unsigned int flags)
{
	return register_resource(ret_resource, (uintptr_t)image, flags, true);
}

CUresult cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource *ret_resource, uint32_t surface,
	unsigned int flags)
{
	return register_resource(ret_resource, surface, flags, true);
}

CUresult cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource *ret_resource, uint32_t surface,
	unsigned int flags)
{
	return register_resource(ret_resource, surface, flags, true);
}

/* The caller holds the lock. */
static void unmap(struct CUgraphicsResource_st *resource)
{
	if (resource->block)
		sim_block_free(resource->block);
	if (resource->mipmap)
		sim_mipmap_free(resource->mipmap);
	resource->block = NULL;
	resource->mipmap = NULL;
	resource->is_mapped = false;
}

CUresult cuGraphicsUnregisterResource(CUgraphicsResource resource)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUgraphicsResource_st **link = &resources; *link; link = &(*link)->next) {
		if (*link == resource) {
			*link = resource->next;
			unmap(resource);
			free(resource);
			result = CUDA_SUCCESS;
			break;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags > CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!is_live(resource))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (resource->is_mapped)
		result = CUDA_ERROR_ALREADY_MAPPED;
	sim_unlock();
	return result;
}

/* --- mapping ---------------------------------------------------------------------------------- */

/*
 * Returns CUDA_SUCCESS if all resources are live, different, and mapped or unmapped as wanted. The
 * caller holds the lock.
 */
static CUresult check(unsigned int count, const CUgraphicsResource *list, bool wants_mapped)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!is_live(list[i]))
			return CUDA_ERROR_INVALID_HANDLE;
		for (unsigned int j = 0; j < i; j++)
			if (list[j] == list[i])
				return CUDA_ERROR_INVALID_HANDLE;
	}
	for (unsigned int i = 0; i < count; i++)
		if (list[i]->is_mapped != wants_mapped)
			return wants_mapped ? CUDA_ERROR_NOT_MAPPED : CUDA_ERROR_ALREADY_MAPPED;
	return CUDA_SUCCESS;
}

/* The caller holds the lock. */
static bool map(struct CUgraphicsResource_st *resource)
{
	if (resource->is_image) {
		resource->mipmap = sim_mipmap_new_foreign(resource->context, &resource->descriptor,
			sim_array_level_limit(&resource->descriptor), (uintptr_t)resource);
		if (resource->mipmap)
			resource->mipmap->is_borrowed = true;
	} else {
		/* Below 4 GiB, so that the form with 32-bit addresses can return the address. */
		resource->block = sim_block_new_low(SIM_SPACE_GRAPHICS, resource->buffer_bytes);
		if (resource->block) {
			resource->block->device = resource->context->device;
			resource->block->owner = (uintptr_t)resource;
		}
	}
	resource->is_mapped = resource->block || resource->mipmap;
	return resource->is_mapped;
}

CUresult cuGraphicsMapResources(unsigned int count, CUgraphicsResource *list, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!list || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = check(count, list, false);
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++) {
		if (map(list[i]))
			continue;
		result = CUDA_ERROR_MAP_FAILED;
		while (i-- > 0)
			unmap(list[i]);
		break;
	}
	sim_unlock();
	return result;
}

CUresult cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *list, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!list || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = check(count, list, true);
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++)
		unmap(list[i]);
	sim_unlock();
	return result;
}

/* --- mapped resources ------------------------------------------------------------------------- */

/*
 * Returns the error of a call that asks this resource for a property of images (or of buffers). The
 * caller holds the lock.
 */
static CUresult check_mapped(const struct CUgraphicsResource_st *resource, bool wants_image)
{
	if (!is_live(resource))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!resource->is_mapped)
		return CUDA_ERROR_NOT_MAPPED;
	if (resource->is_image == wants_image)
		return CUDA_SUCCESS;
	return wants_image ? CUDA_ERROR_NOT_MAPPED_AS_ARRAY : CUDA_ERROR_NOT_MAPPED_AS_POINTER;
}

CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *ret_address, size_t *ret_size_bytes,
	CUgraphicsResource resource)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	CUresult result = check_mapped(resource, false);
	if (result == CUDA_SUCCESS && ret_address)
		*ret_address = resource->block->range.start;
	if (result == CUDA_SUCCESS && ret_size_bytes)
		*ret_size_bytes = resource->block->range.size_bytes;
	sim_unlock();
	return result;
}

CUresult cuGraphicsResourceGetMappedPointer(CUdeviceptr_v1 *ret_address,
	unsigned int *ret_size_bytes, CUgraphicsResource resource)
{
	CUdeviceptr address;
	size_t size_bytes;
	CUresult result = cuGraphicsResourceGetMappedPointer_v2(&address, &size_bytes, resource);

	if (result == CUDA_SUCCESS && ret_address)
		*ret_address = (CUdeviceptr_v1)address;
	if (result == CUDA_SUCCESS && ret_size_bytes)
		*ret_size_bytes = (unsigned int)size_bytes;
	return result;
}

CUresult cuGraphicsSubResourceGetMappedArray(CUarray *ret_array, CUgraphicsResource resource,
	unsigned int index, unsigned int level)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_array)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result = check_mapped(resource, true);
	if (result == CUDA_SUCCESS && (index != 0 || level >= resource->mipmap->level_count))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*ret_array = &resource->mipmap->levels[level];
	sim_unlock();
	return result;
}

CUresult cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *ret_mipmap,
	CUgraphicsResource resource)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_mipmap)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result = check_mapped(resource, true);
	if (result == CUDA_SUCCESS)
		*ret_mipmap = resource->mipmap;
	sim_unlock();
	return result;
}

/* --- operations on all resources -------------------------------------------------------------- */

void sim_graphics_free_of_context(const struct CUctx_st *context)
{
	for (struct CUgraphicsResource_st **link = &resources; *link;) {
		struct CUgraphicsResource_st *resource = *link;
		if (resource->context != context) {
			link = &resource->next;
			continue;
		}
		*link = resource->next;
		unmap(resource);
		free(resource);
	}
}

void sim_graphics_list(struct sim_list *list)
{
	for (const struct CUgraphicsResource_st *resource = resources; resource;
		resource = resource->next)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_GRAPHICS_RESOURCE,
				.device = resource->context->device->ordinal,
				.address = (uintptr_t)resource,
				.context = (uintptr_t)resource->context,
				.size_bytes = resource->is_image ? sim_array_bytes(&resource->descriptor, 0)
												 : resource->buffer_bytes,
				.mappings = resource->is_mapped,
				.references = 1,
			});
}
