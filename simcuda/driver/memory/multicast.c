/* SPDX-License-Identifier: MIT */
#include "vmm.h"

#include <stdlib.h>

/*
 * Multicast objects: addresses that reach memory of several devices at once. They cost nothing, and
 * hold the memory that is bound to them. Data written through a multicast object stays in the
 * object's own file range. It does not reach the bound memory.
 */

struct binding {
	struct binding *next;
	struct sim_device *device;
	/* held by the binding; NULL: memory of a pool, which its owner must keep alive */
	struct sim_physical *physical;
	size_t offset_bytes, size_bytes; /* offset: in the multicast object */
};

struct sim_multicast {
	unsigned int device_count;
	unsigned int devices; /* one bit for each device that was added */
	bool is_complete;     /* true once all devices were added */
	struct binding *bindings;
};

struct sim_multicast *sim_multicast_new(unsigned int device_count)
{
	struct sim_multicast *multicast = calloc(1, sizeof(*multicast));

	if (multicast)
		multicast->device_count = device_count;
	return multicast;
}

unsigned int sim_multicast_device_count(const struct sim_multicast *multicast)
{
	return multicast->device_count;
}

void sim_multicast_set_complete(struct sim_multicast *multicast)
{
	multicast->is_complete = true;
}

static void unbind(struct binding **link)
{
	struct binding *binding = *link;

	*link = binding->next;
	if (binding->physical) {
		binding->physical->mappings--;
		sim_physical_drop_if_unused(binding->physical);
	}
	free(binding);
}

void sim_multicast_free(struct sim_multicast *multicast)
{
	while (multicast->bindings)
		unbind(&multicast->bindings);
	free(multicast);
}

void sim_multicast_list(struct sim_list *list, const struct sim_physical *physical)
{
	for (const struct binding *binding = physical->multicast->bindings; binding;
		binding = binding->next)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_BINDING,
				.device = binding->device->ordinal,
				.address = binding->offset_bytes,
				.object = (uintptr_t)physical,
				.size_bytes = binding->size_bytes,
			});
}

static struct sim_physical *find(CUmemGenericAllocationHandle handle)
{
	struct sim_physical *physical = sim_physical_find(handle);

	return physical && physical->multicast ? physical : NULL;
}

static CUresult check_properties(const CUmulticastObjectProp *properties)
{
	if (!properties || properties->numDevices == 0 || properties->flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return properties->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
		? CUDA_ERROR_NOT_SUPPORTED
		: CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *ret_handle,
	const CUmulticastObjectProp *properties)
{
	CUresult result = sim_check_initialized();

	if (result == CUDA_SUCCESS)
		result = check_properties(properties);
	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_handle || !sim_is_whole_units(properties->size))
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	struct sim_multicast *multicast = sim_multicast_new(properties->numDevices);
	struct sim_physical *physical = multicast ? sim_physical_new(properties->size) : NULL;
	if (physical) {
		physical->multicast = multicast;
		physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		physical->properties.requestedHandleTypes =
			(CUmemAllocationHandleType)properties->handleTypes;
		*ret_handle = (uintptr_t)physical;
	} else {
		free(multicast);
	}
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice ordinal)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!sim_device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;

	sim_lock();
	struct sim_physical *physical = find(handle);
	unsigned int bit = 1U << ordinal;
	bool is_valid = false;
	if (physical) {
		struct sim_multicast *multicast = physical->multicast;
		unsigned int count = (unsigned int)__builtin_popcount(multicast->devices);
		is_valid = !(multicast->devices & bit) && count < multicast->device_count;
		if (is_valid) {
			multicast->devices |= bit;
			multicast->is_complete |= count + 1 == multicast->device_count;
		}
	}
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMulticastGetGranularity(size_t *ret_granularity_bytes,
	const CUmulticastObjectProp *properties, CUmulticastGranularity_flags option)
{
	(void)option;
	CUresult result = sim_check_initialized();

	if (result == CUDA_SUCCESS)
		result = check_properties(properties);
	if (result == CUDA_SUCCESS && !ret_granularity_bytes)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*ret_granularity_bytes = SIM_GRANULARITY_BYTES;
	return result;
}

/* --- binding ---------------------------------------------------------------------------------- */

static bool is_bound(const struct sim_multicast *multicast, const struct sim_device *device,
	size_t offset_bytes, size_t size_bytes)
{
	for (const struct binding *binding = multicast->bindings; binding; binding = binding->next)
		if (binding->device == device && binding->offset_bytes < offset_bytes + size_bytes &&
			offset_bytes < binding->offset_bytes + binding->size_bytes)
			return true;
	return false;
}

/* Binds memory. `physical` NULL: pool memory of the device. The caller holds the lock. */
static CUresult bind(const struct sim_physical *object, size_t offset_bytes, size_t size_bytes,
	struct sim_physical *physical, struct sim_device *device)
{
	struct sim_multicast *multicast = object->multicast;

	if (!sim_is_whole_units(size_bytes) || offset_bytes % SIM_GRANULARITY_BYTES ||
		offset_bytes > object->size_bytes || size_bytes > object->size_bytes - offset_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	/*
	 * A real driver waits until the other devices are added. Here the waiting thread would have to
	 * add them itself.
	 */
	if (!multicast->is_complete)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (!device || !(multicast->devices & 1U << device->ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	if (is_bound(multicast, device, offset_bytes, size_bytes))
		return CUDA_ERROR_INVALID_VALUE;

	struct binding *binding = malloc(sizeof(*binding));
	if (!binding)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*binding = (struct binding){ multicast->bindings, device, physical, offset_bytes, size_bytes };
	multicast->bindings = binding;
	if (physical)
		physical->mappings++;
	return CUDA_SUCCESS;
}

/* Binds a handle's memory. `device` NULL: the device of that memory. */
static CUresult bind_memory(CUmemGenericAllocationHandle handle, struct sim_device *device,
	size_t offset_bytes, CUmemGenericAllocationHandle memory, size_t memory_offset_bytes,
	size_t size_bytes, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct sim_physical *object = find(handle);
	struct sim_physical *physical = sim_physical_find(memory);
	if (object && physical && !physical->multicast &&
		memory_offset_bytes % SIM_GRANULARITY_BYTES == 0 &&
		memory_offset_bytes <= physical->size_bytes &&
		size_bytes <= physical->size_bytes - memory_offset_bytes)
		result =
			bind(object, offset_bytes, size_bytes, physical, device ? device : physical->device);
	sim_unlock();
	return result;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset_bytes,
	CUmemGenericAllocationHandle memory, size_t memory_offset_bytes, size_t size_bytes,
	unsigned long long flags)
{
	return bind_memory(handle, NULL, offset_bytes, memory, memory_offset_bytes, size_bytes, flags);
}

CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle handle, CUdevice ordinal,
	size_t offset_bytes, CUmemGenericAllocationHandle memory, size_t memory_offset_bytes,
	size_t size_bytes, unsigned long long flags)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	return bind_memory(handle, device, offset_bytes, memory, memory_offset_bytes, size_bytes,
		flags);
}

static CUresult bind_address(CUmemGenericAllocationHandle handle, struct sim_device *device,
	size_t offset_bytes, CUdeviceptr address, size_t size_bytes, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct sim_physical *object = find(handle);
	const struct sim_mapping *mapping = sim_mapping_at(address);
	const struct sim_block *block = sim_block_find(address);
	if (object && mapping && !mapping->physical->multicast &&
		address % SIM_GRANULARITY_BYTES == 0 &&
		size_bytes <= mapping->range.start + mapping->range.size_bytes - address)
		result = bind(object, offset_bytes, size_bytes, mapping->physical,
			device ? device : mapping->physical->device);
	else if (object && block && block->space == SIM_SPACE_POOL &&
		size_bytes <= block->range.start + block->range.size_bytes - address)
		result = bind(object, offset_bytes, size_bytes, NULL, device ? device : block->device);
	sim_unlock();
	return result;
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset_bytes,
	CUdeviceptr address, size_t size_bytes, unsigned long long flags)
{
	return bind_address(handle, NULL, offset_bytes, address, size_bytes, flags);
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle handle, CUdevice ordinal,
	size_t offset_bytes, CUdeviceptr address, size_t size_bytes, unsigned long long flags)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	return bind_address(handle, device, offset_bytes, address, size_bytes, flags);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice ordinal,
	size_t offset_bytes, size_t size_bytes)
{
	const struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct sim_physical *object = find(handle);
	struct binding **link = object ? &object->multicast->bindings : NULL;
	while (link && *link) {
		if ((*link)->device == device && (*link)->offset_bytes == offset_bytes &&
			(*link)->size_bytes == size_bytes) {
			unbind(link);
			result = CUDA_SUCCESS;
			break;
		}
		link = &(*link)->next;
	}
	sim_unlock();
	return result;
}
