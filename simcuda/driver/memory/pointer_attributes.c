/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "pools/pool.h"

/* Attributes of pointers. */

struct pointer_info {
	struct sim_range range;
	const struct sim_block *block; /* NULL: mapped by cuMemMap */
	struct sim_device *device;     /* NULL: host memory */
	bool is_host;
	unsigned int handle_types; /* types that the memory can be exported as */
	uint64_t id;               /* id of the memory */
};

static bool is_host_block(const struct sim_block *block)
{
	if (block->space == SIM_SPACE_PINNED || block->space == SIM_SPACE_REGISTERED)
		return true;
	/* Neither device memory nor managed memory: the pool has host memory. */
	return block->pool && !block->device &&
		block->pool->properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
}

static unsigned int handle_types_of(const struct sim_block *block)
{
	return block->pool ? (unsigned int)block->pool->properties.handleTypes
					   : CU_MEM_HANDLE_TYPE_NONE;
}

static bool find(uintptr_t address, struct pointer_info *ret_info)
{
	struct sim_mapping_info mapping;
	const struct sim_block *block = sim_block_find(address);

	if (block) {
		*ret_info = (struct pointer_info){ block->range, block, block->device, is_host_block(block),
			handle_types_of(block), block->id };
		return true;
	}
	if (!sim_mapping_find(address, &mapping))
		return false;
	*ret_info = (struct pointer_info){ mapping.range, NULL, mapping.device, mapping.is_host,
		mapping.handle_types, mapping.id };
	return true;
}

static bool is_managed(const struct pointer_info *info)
{
	return info->block &&
		(info->block->space == SIM_SPACE_MANAGED ||
			(info->block->pool &&
				info->block->pool->properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED));
}

static struct CUctx_st *context_of(const struct pointer_info *info)
{
	if (info->block && info->block->context)
		return info->block->context;
	/* Pool memory and mapped memory belong to no context. CUDA also returns NULL for them. */
	return NULL;
}

static int device_of(const struct pointer_info *info)
{
	if (info->device)
		return info->device->ordinal;
	return info->block && info->block->context ? info->block->context->device->ordinal
											   : CU_DEVICE_CPU;
}

/* Gets the value of this attribute, if the pointer has one. */
static CUresult get(const struct pointer_info *info, uintptr_t address,
	CUpointer_attribute attribute, void *ret_value)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)ret_value = context_of(info);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(CUmemorytype *)ret_value = info->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)ret_value = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!info->is_host && !is_managed(info))
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)ret_value = (void *)address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)ret_value = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)ret_value = info->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)ret_value = is_managed(info);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)ret_value = device_of(info);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned int *)ret_value = info->block && info->block->space == SIM_SPACE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)ret_value = info->range.start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)ret_value = info->range.size_bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned int *)ret_value = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned int *)ret_value = info->handle_types;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned int *)ret_value = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)ret_value = info->block ? info->block->pool : NULL;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuPointerGetAttribute(void *ret_value, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct CUctx_st *context;
	struct pointer_info info;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result =
		find(address, &info) ? get(&info, address, attribute, ret_value) : CUDA_ERROR_INVALID_VALUE;
	sim_unlock();
	return result;
}

/*
 * Sets the value for an unknown pointer: zero, except for ordinals, where zero would be a device.
 */
static void get_unknown(CUpointer_attribute attribute, void *ret_value)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)ret_value = CU_DEVICE_INVALID;
		break;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		memset(ret_value, 0, sizeof(void *));
		break;
	default:
		memset(ret_value, 0, sizeof(int));
	}
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
	void **ret_values, CUdeviceptr address)
{
	struct CUctx_st *context;
	struct pointer_info info;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!attributes || !ret_values)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool is_known = find(address, &info);
	for (unsigned int i = 0; i < count; i++)
		if (!is_known || get(&info, address, attributes[i], ret_values[i]) != CUDA_SUCCESS)
			get_unknown(attributes[i], ret_values[i]);
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
	CUdeviceptr address)
{
	struct CUctx_st *context;
	struct pointer_info info;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	bool is_valid = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && find(address, &info);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
