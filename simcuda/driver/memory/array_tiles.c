/* SPDX-License-Identifier: MIT */
#include "array.h"

#include <stdlib.h>

#include "contexts/stream.h"
#include "vmm.h"

/*
 * Memory behind sparse and deferred arrays. A sparse array gets its memory tile by tile, a deferred
 * array all at once. A mapped part holds the physical memory, as an address mapping does.
 */

enum { TILE_BYTES = 1 << 16 };

/* What memory is mapped to: an array or a mipmapped array. Exactly one of the two is set. */
struct target {
	struct CUarray_st *array;
	struct CUmipmappedArray_st *mipmap;
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor;
	struct sim_tiles **tiles;
	unsigned int level_count;
};

void sim_tiles_free(struct sim_tiles **tiles)
{
	while (*tiles) {
		struct sim_tiles *first = *tiles;
		*tiles = first->next;
		first->physical->mappings--;
		sim_physical_drop_if_unused(first->physical);
		free(first);
	}
}

void sim_tiles_list(struct sim_list *list, const struct sim_tiles *tiles, uint64_t array)
{
	for (; tiles; tiles = tiles->next)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_TILES,
				.device = sim_ordinal_of(tiles->physical->device),
				.address = array,
				.object = (uintptr_t)tiles->physical,
				.size_bytes = tiles->size_bytes,
			});
}

/* --- tiles ------------------------------------------------------------------------------------ */

static bool is_flat(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return descriptor->Depth == 0 || (descriptor->Flags & CUDA_ARRAY3D_LAYERED);
}

/*
 * Gets a tile's extent in elements. The tile is as close to a square or a cube as powers of two
 * allow.
 */
static void get_tile(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, uint64_t ret_extent[3])
{
	size_t element_bytes = sim_array_element_bytes(descriptor);
	uint64_t left = TILE_BYTES / (element_bytes ? element_bytes : 1);
	int dimensions = is_flat(descriptor) ? 2 : 3;

	ret_extent[0] = ret_extent[1] = ret_extent[2] = 1;
	for (int i = 0; left > 1; i = (i + 1) % dimensions) {
		ret_extent[i] *= 2;
		left /= 2;
	}
}

static bool is_smaller_than_tile(const CUDA_ARRAY3D_DESCRIPTOR *level, const uint64_t tile[3])
{
	return level->Width < tile[0] || level->Height < tile[1] ||
		(!is_flat(level) && level->Depth < tile[2]);
}

/* Returns the first level of the mip tail, or the number of levels if there is no tail. */
static unsigned int first_tail_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int level_count)
{
	uint64_t tile[3];
	unsigned int level;

	get_tile(descriptor, tile);
	for (level = 0; level < level_count; level++) {
		CUDA_ARRAY3D_DESCRIPTOR own = sim_array_level(descriptor, level);
		if (is_smaller_than_tile(&own, tile))
			break;
	}
	return level;
}

static size_t tail_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count)
{
	size_t size_bytes = 0;

	for (unsigned int level = first_tail_level(descriptor, level_count); level < level_count;
		level++)
		size_bytes += sim_array_bytes(descriptor, level);
	return sim_round_up(size_bytes, TILE_BYTES);
}

/* --- queries about tiles ---------------------------------------------------------------------- */

/* The caller holds the lock. */
static void get_sparse_properties(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int level_count, CUDA_ARRAY_SPARSE_PROPERTIES *ret_properties)
{
	uint64_t tile[3];

	get_tile(descriptor, tile);
	*ret_properties = (CUDA_ARRAY_SPARSE_PROPERTIES){ 0 };
	ret_properties->tileExtent.width = (unsigned int)tile[0];
	ret_properties->tileExtent.height = (unsigned int)tile[1];
	ret_properties->tileExtent.depth = (unsigned int)tile[2];
	if (level_count > 0) {
		ret_properties->miptailFirstLevel = first_tail_level(descriptor, level_count);
		ret_properties->miptailSize = tail_bytes(descriptor, level_count);
		ret_properties->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
	}
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *ret_properties, CUarray array)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = ret_properties && sim_array_is_live(array) && !array->mipmap &&
		(array->descriptor.Flags & CUDA_ARRAY3D_SPARSE);
	if (is_valid)
		get_sparse_properties(&array->descriptor, 0, ret_properties);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *ret_properties,
	CUmipmappedArray mipmap)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = ret_properties && sim_mipmap_is_live(mipmap) &&
		(mipmap->descriptor.Flags & CUDA_ARRAY3D_SPARSE);
	if (is_valid)
		get_sparse_properties(&mipmap->descriptor, mipmap->level_count, ret_properties);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static size_t deferred_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count)
{
	size_t size_bytes = 0;

	for (unsigned int level = 0; level < level_count; level++)
		size_bytes += sim_array_bytes(descriptor, level);
	return sim_round_up(size_bytes, TILE_BYTES);
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret_requirements,
	CUarray array, CUdevice ordinal)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = ret_requirements && sim_device_find(ordinal) && sim_array_is_live(array) &&
		(array->descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING);
	if (is_valid)
		*ret_requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
			.size = deferred_bytes(&array->descriptor, 1),
			.alignment = TILE_BYTES,
		};
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret_requirements,
	CUmipmappedArray mipmap, CUdevice ordinal)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = ret_requirements && sim_device_find(ordinal) && sim_mipmap_is_live(mipmap) &&
		(mipmap->descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING);
	if (is_valid)
		*ret_requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
			.size = deferred_bytes(&mipmap->descriptor, mipmap->level_count),
			.alignment = TILE_BYTES,
		};
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- mapping ---------------------------------------------------------------------------------- */

static bool find_target(const CUarrayMapInfo *info, struct target *ret_target)
{
	struct CUarray_st *array = info->resource.array;
	struct CUmipmappedArray_st *mipmap = info->resource.mipmap;

	if (info->resourceType == CU_RESOURCE_TYPE_ARRAY && sim_array_is_live(array) && !array->mipmap)
		*ret_target = (struct target){ array, NULL, &array->descriptor, &array->tiles, 1 };
	else if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && sim_mipmap_is_live(mipmap))
		*ret_target = (struct target){ NULL, mipmap, &mipmap->descriptor, &mipmap->tiles,
			mipmap->level_count };
	else
		return false;
	return ret_target->descriptor->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING);
}

/*
 * Returns whether the range consists of whole tiles in one direction. It begins at a tile edge, and
 * ends at a tile edge or at the array's end.
 */
static bool is_stretch(uint64_t offset, uint64_t extent, uint64_t tile, size_t size)
{
	return extent > 0 && offset % tile == 0 && offset < size && extent <= size - offset &&
		(extent % tile == 0 || offset + extent == size);
}

/*
 * Gets the part of a sparse level that the request describes. Returns false if the array has no
 * such part.
 */
static bool get_level_part(const CUarrayMapInfo *info, const struct target *target,
	struct sim_tiles *ret_part)
{
	unsigned int level = info->subresource.sparseLevel.level,
				 layer = info->subresource.sparseLevel.layer;
	uint64_t offset[3] = { info->subresource.sparseLevel.offsetX,
		info->subresource.sparseLevel.offsetY, info->subresource.sparseLevel.offsetZ };
	uint64_t extent[3] = { info->subresource.sparseLevel.extentWidth,
		info->subresource.sparseLevel.extentHeight, info->subresource.sparseLevel.extentDepth };
	bool is_layered = target->descriptor->Flags & CUDA_ARRAY3D_LAYERED;
	uint64_t tile[3], tiles = 1;

	if (level >= target->level_count || layer >= (is_layered ? target->descriptor->Depth : 1))
		return false;
	if (target->mipmap && level >= first_tail_level(target->descriptor, target->level_count))
		return false;
	CUDA_ARRAY3D_DESCRIPTOR own = sim_array_level(target->descriptor, level);
	size_t size[3] = { own.Width, own.Height ? own.Height : 1, is_flat(&own) ? 1 : own.Depth };
	get_tile(target->descriptor, tile);
	for (int i = 0; i < 3; i++) {
		if (!is_stretch(offset[i], extent[i], tile[i], size[i]))
			return false;
		tiles *= (extent[i] + tile[i] - 1) / tile[i];
		ret_part->offset[i] = offset[i];
		ret_part->extent[i] = extent[i];
	}
	ret_part->level = level;
	ret_part->layer = layer;
	ret_part->size_bytes = tiles * TILE_BYTES;
	return true;
}

static bool get_part(const CUarrayMapInfo *info, const struct target *target,
	struct sim_tiles *ret_part)
{
	*ret_part = (struct sim_tiles){ 0 };
	if (target->descriptor->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) {
		ret_part->size_bytes = deferred_bytes(target->descriptor, target->level_count);
		return true;
	}
	if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL)
		return get_level_part(info, target, ret_part);

	uint64_t offset = info->subresource.miptail.offset, size_bytes = info->subresource.miptail.size;
	size_t available_bytes =
		target->mipmap ? tail_bytes(target->descriptor, target->level_count) : 0;
	if (info->subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL || size_bytes == 0 ||
		info->subresource.miptail.layer != 0 || offset % TILE_BYTES || size_bytes % TILE_BYTES ||
		offset > available_bytes || size_bytes > available_bytes - offset)
		return false;
	ret_part->is_tail = true;
	ret_part->offset[0] = offset;
	ret_part->extent[0] = ret_part->size_bytes = size_bytes;
	return true;
}

static bool lies_in(const struct sim_tiles *inner, const struct sim_tiles *outer)
{
	if (inner->is_tail != outer->is_tail || inner->level != outer->level ||
		inner->layer != outer->layer)
		return false;
	for (int i = 0; i < 3; i++)
		if (inner->offset[i] < outer->offset[i] ||
			inner->offset[i] + inner->extent[i] > outer->offset[i] + outer->extent[i])
			return false;
	return true;
}

/* Releases the memory behind this part, or behind parts of it. */
static void unmap(const struct target *target, const struct sim_tiles *part)
{
	for (struct sim_tiles **link = target->tiles; *link;) {
		struct sim_tiles *tiles = *link;
		if (!lies_in(tiles, part)) {
			link = &tiles->next;
			continue;
		}
		*link = tiles->next;
		tiles->next = NULL;
		sim_tiles_free(&tiles);
	}
}

/* Handles one entry of the request. The caller holds the lock. */
static CUresult map_one(const CUarrayMapInfo *info, const struct CUctx_st *context)
{
	struct target target;
	struct sim_tiles part;

	if (info->deviceBitMask != 1U << context->device->ordinal || info->flags != 0 ||
		!find_target(info, &target) || !get_part(info, &target, &part))
		return CUDA_ERROR_INVALID_VALUE;
	if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
		if (info->memHandle.memHandle != 0)
			return CUDA_ERROR_INVALID_VALUE;
		unmap(&target, &part);
		return CUDA_SUCCESS;
	}
	if (info->memOperationType != CU_MEM_OPERATION_TYPE_MAP ||
		info->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC)
		return CUDA_ERROR_INVALID_VALUE;

	struct sim_physical *physical = sim_physical_find(info->memHandle.memHandle);
	if (!physical || physical->multicast)
		return CUDA_ERROR_INVALID_HANDLE;
	if (physical->device != context->device ||
		!(physical->properties.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) ||
		info->offset % TILE_BYTES || info->offset > physical->size_bytes ||
		part.size_bytes > physical->size_bytes - info->offset)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_tiles *tiles = malloc(sizeof(*tiles));
	if (!tiles)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/*
	 * Adds this mapping first: the part's previous mapping may be the last holder of the same
	 * memory.
	 */
	physical->mappings++;
	unmap(&target, &part);
	*tiles = part;
	tiles->physical = physical;
	tiles->next = *target.tiles;
	*target.tiles = tiles;
	return CUDA_SUCCESS;
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *infos, unsigned int count, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result == CUDA_SUCCESS)
		result = sim_stream_refuse_capturing(stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (!infos || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = map_one(&infos[i], context);
	sim_unlock();
	return result;
}
