/* SPDX-License-Identifier: MIT */
#include "array.h"

#include <stdlib.h>

/* Arrays and mipmapped arrays: creation, description and destruction. */

static struct CUarray_st *arrays;
static struct CUmipmappedArray_st *mipmaps;

/*
 * Returns whether the array has memory of its own. Sparse and deferred arrays have no memory until
 * a program maps some to them. The memory's handle is charged for it.
 */
static bool is_backed(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return !(descriptor->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
}

bool sim_mipmap_is_live(const struct CUmipmappedArray_st *mipmap)
{
	for (const struct CUmipmappedArray_st *live = mipmaps; live; live = live->next)
		if (live == mipmap)
			return true;
	return false;
}

bool sim_array_is_live(const struct CUarray_st *array)
{
	/* Finds levels and planes by their address, because `array` may point to freed memory. */
	for (const struct CUarray_st *live = arrays; live; live = live->next)
		if (live == array ||
			(live->planes && array >= live->planes &&
				array < live->planes + sim_array_plane_count(&live->descriptor)))
			return true;
	for (const struct CUmipmappedArray_st *live = mipmaps; live; live = live->next)
		if (array >= live->levels && array < live->levels + live->level_count)
			return true;
	return false;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* Makes an array. Returns NULL if memory is short. */
static struct CUarray_st *array_new(struct CUctx_st *context,
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	unsigned int plane_count = sim_array_plane_count(descriptor);
	struct CUarray_st *array = calloc(1, sizeof(*array));

	if (!array)
		return NULL;
	array->context = context;
	array->descriptor = *descriptor;
	array->size_bytes = is_backed(descriptor) ? sim_array_bytes(descriptor, 0) : 0;
	array->charged_bytes = sim_round_up(array->size_bytes, SIM_CHARGE_UNIT_BYTES);
	if (plane_count == 0)
		return array;
	array->planes = calloc(plane_count, sizeof(*array->planes));
	if (!array->planes) {
		free(array);
		return NULL;
	}
	for (unsigned int plane = 0; plane < plane_count; plane++) {
		array->planes[plane].context = context;
		array->planes[plane].descriptor = sim_array_plane(descriptor, plane);
	}
	return array;
}

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_array || !descriptor || sim_array_bytes(descriptor, 0) == 0)
		return CUDA_ERROR_INVALID_VALUE;

	struct CUarray_st *array = array_new(context, descriptor);
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	bool is_valid = sim_device_charge(context->device, array->charged_bytes);
	if (is_valid) {
		array->next = arrays;
		arrays = array;
		*ret_array = array;
	}
	sim_unlock();
	if (!is_valid) {
		free(array->planes);
		free(array);
	}
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_ARRAY3D_DESCRIPTOR volume = {
		.Width = descriptor->Width,
		.Height = descriptor->Height,
		.Format = descriptor->Format,
		.NumChannels = descriptor->NumChannels,
	};
	return cuArray3DCreate_v2(ret_array, &volume);
}

static void array_free(struct CUarray_st **link)
{
	struct CUarray_st *array = *link;

	*link = array->next;
	sim_device_refund(array->context->device, array->charged_bytes);
	sim_tiles_free(&array->tiles);
	free(array->planes);
	free(array);
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	/* Levels and planes are views. They are not in this list. */
	result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUarray_st **link = &arrays; *link; link = &(*link)->next) {
		if (*link == array) {
			array_free(link);
			result = CUDA_SUCCESS;
			break;
		}
	}
	sim_unlock();
	return result;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret_descriptor, CUarray array)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool live = sim_array_is_live(array);
	if (live)
		*ret_descriptor = array->descriptor;
	sim_unlock();
	return live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret_descriptor, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR volume;
	CUresult result =
		ret_descriptor ? cuArray3DGetDescriptor_v2(&volume, array) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*ret_descriptor = (CUDA_ARRAY_DESCRIPTOR){
			.Width = volume.Width,
			.Height = volume.Height,
			.Format = volume.Format,
			.NumChannels = volume.NumChannels,
		};
	return result;
}

CUresult cuArrayGetPlane(CUarray *ret_plane, CUarray array, unsigned int plane)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_plane)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!sim_array_is_live(array))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!array->planes || plane >= sim_array_plane_count(&array->descriptor))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		*ret_plane = &array->planes[plane];
	sim_unlock();
	return result;
}

/* --- mipmapped arrays ------------------------------------------------------------------------- */

/* Makes a mipmapped array that is in no list and not charged. Returns NULL if memory is short. */
static struct CUmipmappedArray_st *mipmap_new(struct CUctx_st *context,
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count)
{
	unsigned int limit = sim_array_level_limit(descriptor);
	struct CUmipmappedArray_st *mipmap = calloc(1, sizeof(*mipmap));

	if (!mipmap)
		return NULL;
	/* Too many levels mean the maximum, as in NVIDIA's driver. */
	level_count = level_count > limit ? limit : level_count;
	level_count = level_count ? level_count : 1;
	mipmap->levels = calloc(level_count, sizeof(*mipmap->levels));
	if (!mipmap->levels) {
		free(mipmap);
		return NULL;
	}
	mipmap->context = context;
	mipmap->level_count = level_count;
	mipmap->descriptor = *descriptor;
	for (unsigned int level = 0; level < level_count; level++) {
		mipmap->levels[level].context = context;
		mipmap->levels[level].mipmap = mipmap;
		mipmap->levels[level].descriptor = sim_array_level(descriptor, level);
		size_t level_bytes = sim_array_bytes(descriptor, level);
		mipmap->size_bytes = level_bytes < SIZE_MAX / 2 - mipmap->size_bytes
			? mipmap->size_bytes + level_bytes
			: SIZE_MAX / 2;
	}
	return mipmap;
}

static void mipmap_insert(struct CUmipmappedArray_st *mipmap)
{
	mipmap->next = mipmaps;
	mipmaps = mipmap;
}

struct CUmipmappedArray_st *sim_mipmap_new_foreign(struct CUctx_st *context,
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count, uint64_t owner)
{
	struct CUmipmappedArray_st *mipmap = mipmap_new(context, descriptor, level_count);

	if (mipmap) {
		mipmap->owner = owner;
		mipmap_insert(mipmap);
	}
	return mipmap;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_mipmap,
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_mipmap || !descriptor || sim_array_bytes(descriptor, 0) == 0)
		return CUDA_ERROR_INVALID_VALUE;

	struct CUmipmappedArray_st *mipmap = mipmap_new(context, descriptor, level_count);
	if (!mipmap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!is_backed(descriptor))
		mipmap->size_bytes = 0;
	mipmap->charged_bytes = sim_round_up(mipmap->size_bytes, SIM_CHARGE_UNIT_BYTES);
	sim_lock();
	bool is_valid = sim_device_charge(context->device, mipmap->charged_bytes);
	if (is_valid) {
		mipmap_insert(mipmap);
		*ret_mipmap = mipmap;
	}
	sim_unlock();
	if (!is_valid) {
		free(mipmap->levels);
		free(mipmap);
	}
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMipmappedArrayGetLevel(CUarray *ret_array, CUmipmappedArray mipmap, unsigned int level)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_array)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!sim_mipmap_is_live(mipmap))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (level >= mipmap->level_count)
		result = CUDA_ERROR_INVALID_VALUE;
	else
		*ret_array = &mipmap->levels[level];
	sim_unlock();
	return result;
}

void sim_mipmap_free(struct CUmipmappedArray_st *mipmap)
{
	struct CUmipmappedArray_st **link = &mipmaps;

	while (*link != mipmap)
		link = &(*link)->next;
	*link = mipmap->next;
	sim_device_refund(mipmap->context->device, mipmap->charged_bytes);
	sim_tiles_free(&mipmap->tiles);
	free(mipmap->levels);
	free(mipmap);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	bool is_valid = sim_mipmap_is_live(mipmap) && !mipmap->is_borrowed;
	if (is_valid)
		sim_mipmap_free(mipmap);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- operations on all arrays ----------------------------------------------------------------- */

void sim_arrays_free_of_context(const struct CUctx_st *context)
{
	struct CUmipmappedArray_st *next;

	for (struct CUarray_st **link = &arrays; *link;) {
		if ((*link)->context == context)
			array_free(link);
		else
			link = &(*link)->next;
	}
	for (struct CUmipmappedArray_st *mipmap = mipmaps; mipmap; mipmap = next) {
		next = mipmap->next;
		if (mipmap->context == context)
			sim_mipmap_free(mipmap);
	}
}

void sim_arrays_list(struct sim_list *list)
{
	for (const struct CUarray_st *array = arrays; array; array = array->next) {
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_ARRAY,
				.device = array->context->device->ordinal,
				.address = (uintptr_t)array,
				.context = (uintptr_t)array->context,
				.size_bytes = array->size_bytes,
				.charged_bytes = array->charged_bytes,
			});
		sim_tiles_list(list, array->tiles, (uintptr_t)array);
	}
	for (const struct CUmipmappedArray_st *mipmap = mipmaps; mipmap; mipmap = mipmap->next) {
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_MIPMAP,
				.device = mipmap->context->device->ordinal,
				.address = (uintptr_t)mipmap,
				.object = mipmap->owner,
				.context = (uintptr_t)mipmap->context,
				.size_bytes = mipmap->size_bytes,
				.charged_bytes = mipmap->charged_bytes,
			});
		sim_tiles_list(list, mipmap->tiles, (uintptr_t)mipmap);
	}
}
