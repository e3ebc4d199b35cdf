/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>

/*
 * Arrays: handles with a description, for which the device is charged width x height x depth x
 * element bytes (a real device pads its tiles, and takes a little more). Their content is not kept.
 */

struct CUarray_st {
	struct CUarray_st *next;
	struct CUctx_st *context;
	struct CUmipmappedArray_st *mipmap; /* a level of this one; NULL: an array of its own */
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t size_bytes; /* that its description asks for; 0 for what is mapped later, or never */
	size_t charged_bytes;
};

struct CUmipmappedArray_st {
	struct CUmipmappedArray_st *next;
	struct CUctx_st *context;
	unsigned int level_count;
	struct CUarray_st *levels;
	size_t size_bytes;
	size_t charged_bytes;
};

static struct CUarray_st *arrays;
static struct CUmipmappedArray_st *mipmaps;

static size_t channel_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0; /* compressed and packed formats: refused */
	}
}

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

/* Bytes of one level; 0 when the description makes no sense. Sparse and deferred arrays hold none. */
static size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level)
{
	size_t size_bytes = channel_bytes(descriptor->Format) * descriptor->NumChannels;

	if (__builtin_mul_overflow(size_bytes, at_least_one(descriptor->Width >> level), &size_bytes) ||
	    __builtin_mul_overflow(size_bytes, at_least_one(descriptor->Height >> level), &size_bytes) ||
	    __builtin_mul_overflow(size_bytes, at_least_one(descriptor->Depth >> level), &size_bytes))
		return SIZE_MAX / 2;
	return size_bytes;
}

static bool is_backed(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return !(descriptor->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
}

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_array || !descriptor || descriptor->Width == 0 || array_bytes(descriptor, 0) == 0)
		return CUDA_ERROR_INVALID_VALUE;

	struct CUarray_st *array = calloc(1, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	size_t size_bytes = is_backed(descriptor) ? array_bytes(descriptor, 0) : 0;
	size_t charged_bytes = sim_round_up(size_bytes, SIM_CHARGE_UNIT_BYTES);
	sim_lock();
	bool fine = sim_device_charge(context->device, charged_bytes);
	if (fine) {
		*array = (struct CUarray_st){ arrays, context, NULL, *descriptor, size_bytes, charged_bytes };
		arrays = array;
	}
	sim_unlock();
	if (!fine) {
		free(array);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_array = array;
	return CUDA_SUCCESS;
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
	free(array);
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
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
	if (!ret_descriptor || !array)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_descriptor = array->descriptor;
	return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret_descriptor, CUarray array)
{
	if (!ret_descriptor || !array)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_descriptor = (CUDA_ARRAY_DESCRIPTOR){
		.Width = array->descriptor.Width,
		.Height = array->descriptor.Height,
		.Format = array->descriptor.Format,
		.NumChannels = array->descriptor.NumChannels,
	};
	return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret_requirements, CUarray array,
				      CUdevice ordinal)
{
	(void)ordinal;
	if (!ret_requirements || !array)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
		.size = sim_round_up(array_bytes(&array->descriptor, 0), SIM_CHARGE_UNIT_BYTES),
		.alignment = SIM_CHARGE_UNIT_BYTES,
	};
	return CUDA_SUCCESS;
}

/* --- mipmapped arrays ----------------------------------------------------------------------------- */

CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_mipmap, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
				unsigned int level_count)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_mipmap || !descriptor || descriptor->Width == 0 || level_count == 0 || level_count > 32 ||
	    array_bytes(descriptor, 0) == 0)
		return CUDA_ERROR_INVALID_VALUE;

	struct CUmipmappedArray_st *mipmap = calloc(1, sizeof(*mipmap));
	struct CUarray_st *levels = calloc(level_count, sizeof(*levels));
	if (!mipmap || !levels) {
		free(mipmap);
		free(levels);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	size_t size_bytes = 0;
	for (unsigned int level = 0; level < level_count; level++) {
		levels[level] = (struct CUarray_st){ .context = context,
						     .mipmap = mipmap,
						     .descriptor = *descriptor };
		levels[level].descriptor.Width = at_least_one(descriptor->Width >> level);
		levels[level].descriptor.Height = descriptor->Height >> level;
		levels[level].descriptor.Depth = descriptor->Depth >> level;
		size_bytes += array_bytes(descriptor, level);
	}
	if (!is_backed(descriptor))
		size_bytes = 0;
	size_t charged_bytes = sim_round_up(size_bytes, SIM_CHARGE_UNIT_BYTES);
	sim_lock();
	bool fine = sim_device_charge(context->device, charged_bytes);
	if (fine) {
		*mipmap = (struct CUmipmappedArray_st){ mipmaps, context,    level_count,
							levels,  size_bytes, charged_bytes };
		mipmaps = mipmap;
	}
	sim_unlock();
	if (!fine) {
		free(levels);
		free(mipmap);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_mipmap = mipmap;
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *ret_array, CUmipmappedArray mipmap, unsigned int level)
{
	if (!ret_array || !mipmap || level >= mipmap->level_count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_array = &mipmap->levels[level];
	return CUDA_SUCCESS;
}

static void mipmap_free(struct CUmipmappedArray_st **link)
{
	struct CUmipmappedArray_st *mipmap = *link;

	*link = mipmap->next;
	sim_device_refund(mipmap->context->device, mipmap->charged_bytes);
	free(mipmap->levels);
	free(mipmap);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUmipmappedArray_st **link = &mipmaps; *link; link = &(*link)->next) {
		if (*link == mipmap) {
			mipmap_free(link);
			result = CUDA_SUCCESS;
			break;
		}
	}
	sim_unlock();
	return result;
}

void sim_arrays_free_of_context(const struct CUctx_st *context)
{
	for (struct CUarray_st **link = &arrays; *link;) {
		if ((*link)->context == context)
			array_free(link);
		else
			link = &(*link)->next;
	}
	for (struct CUmipmappedArray_st **link = &mipmaps; *link;) {
		if ((*link)->context == context)
			mipmap_free(link);
		else
			link = &(*link)->next;
	}
}

void sim_arrays_list(struct sim_list *list)
{
	for (const struct CUarray_st *array = arrays; array; array = array->next)
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_ARRAY,
					   .device = array->context->device->ordinal,
					   .address = (uintptr_t)array,
					   .context = (uintptr_t)array->context,
					   .size_bytes = array->size_bytes,
					   .charged_bytes = array->charged_bytes,
				   });
	for (const struct CUmipmappedArray_st *mipmap = mipmaps; mipmap; mipmap = mipmap->next)
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_MIPMAP,
					   .device = mipmap->context->device->ordinal,
					   .address = (uintptr_t)mipmap,
					   .context = (uintptr_t)mipmap->context,
					   .size_bytes = mipmap->size_bytes,
					   .charged_bytes = mipmap->charged_bytes,
				   });
}
