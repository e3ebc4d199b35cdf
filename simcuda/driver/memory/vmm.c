/* SPDX-License-Identifier: MIT */
#include "vmm.h"

#include <stdlib.h>
#include <sys/mman.h>

/*
 * Virtual memory management: a program reserves addresses and maps physical memory
 * (physical_memory.c) to them.
 */

static struct sim_ranges reservations;
static struct sim_ranges mappings;

struct sim_mapping *sim_mapping_at(uintptr_t address)
{
	return (struct sim_mapping *)sim_ranges_find(&mappings, address);
}

bool sim_mapping_find(uintptr_t address, struct sim_mapping_info *ret_info)
{
	const struct sim_mapping *mapping = sim_mapping_at(address);

	if (!mapping)
		return false;
	ret_info->range = mapping->range;
	ret_info->device = mapping->physical->device;
	ret_info->is_host = !mapping->physical->device && !mapping->physical->multicast;
	ret_info->handle_types = (unsigned int)mapping->physical->properties.requestedHandleTypes;
	ret_info->id = mapping->physical->id;
	return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t size_bytes, size_t alignment_bytes,
	CUdeviceptr wanted_address, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_address || !sim_is_whole_units(size_bytes) || flags != 0 ||
		(alignment_bytes & (alignment_bytes - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment_bytes < SIM_GRANULARITY_BYTES)
		alignment_bytes = SIM_GRANULARITY_BYTES;

	/* More than needed. The unaligned ends are given back. */
	size_t spread_bytes;
	if (__builtin_add_overflow(size_bytes, alignment_bytes, &spread_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *spread = mmap((void *)wanted_address, spread_bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct sim_range *range = malloc(sizeof(*range));
	if (spread == MAP_FAILED || !range) {
		if (spread != MAP_FAILED)
			munmap(spread, spread_bytes);
		free(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	uintptr_t start = sim_round_up((uintptr_t)spread, alignment_bytes);
	size_t head_bytes = start - (uintptr_t)spread;
	if (head_bytes > 0)
		munmap(spread, head_bytes);
	munmap((void *)(start + size_bytes), alignment_bytes - head_bytes);

	*range = (struct sim_range){ start, size_bytes };
	sim_lock();
	bool is_valid = sim_ranges_insert(&reservations, range);
	sim_unlock();
	if (!is_valid) {
		munmap((void *)start, size_bytes);
		free(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_address = start;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size_bytes)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	sim_lock();
	struct sim_range *range = sim_ranges_find(&reservations, address);
	bool is_valid = range && range->start == address && range->size_bytes == size_bytes &&
		!sim_ranges_overlap(&mappings, address, size_bytes);
	if (is_valid) {
		sim_ranges_remove(&reservations, range);
		munmap((void *)address, size_bytes);
		free(range);
	}
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- mapping ---------------------------------------------------------------------------------- */

/*
 * Returns the strongest access right of the host and all devices, because they are one process
 * here.
 */
static int protection_of(const struct sim_mapping *mapping)
{
	int protection = PROT_NONE;

	for (size_t i = 0; i < sizeof(mapping->access); i++) {
		if (mapping->access[i] & CU_MEM_ACCESS_FLAGS_PROT_READ)
			protection |= PROT_READ;
		if (mapping->access[i] == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			protection |= PROT_READ | PROT_WRITE;
	}
	return protection;
}

static bool map_memory(const struct sim_mapping *mapping)
{
	const struct sim_physical *physical = mapping->physical;

	return mmap((void *)mapping->range.start, mapping->range.size_bytes, protection_of(mapping),
			   MAP_SHARED | MAP_FIXED | MAP_NORESERVE, physical->file,
			   physical->file_offset + (off_t)mapping->offset_bytes) != MAP_FAILED;
}

bool sim_mappings_renew(const struct sim_physical *physical)
{
	bool is_valid = true;

	for (size_t i = 0; i < mappings.count; i++) {
		const struct sim_mapping *mapping = (const struct sim_mapping *)mappings.items[i];
		if (mapping->physical == physical && !map_memory(mapping))
			is_valid = false;
	}
	return is_valid;
}

/* Removes access but keeps the reservation, so that the host maps no other memory there. */
static void remove_access(uintptr_t address, size_t size_bytes)
{
	mmap((void *)address, size_bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Maps memory. It is not accessible until cuMemSetAccess allows it. */
static CUresult map(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
	struct sim_physical *physical)
{
	struct sim_mapping *mapping = calloc(1, sizeof(*mapping));

	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mapping->range = (struct sim_range){ address, size_bytes };
	mapping->physical = physical;
	mapping->offset_bytes = offset_bytes;
	if (!map_memory(mapping) || !sim_ranges_insert(&mappings, &mapping->range)) {
		remove_access(address, size_bytes);
		free(mapping);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	physical->mappings++;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags != 0 || !sim_is_whole_units(size_bytes) || address % SIM_GRANULARITY_BYTES ||
		offset_bytes % SIM_GRANULARITY_BYTES)
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct sim_physical *physical = sim_physical_find(handle);
	const struct sim_range *reserved = sim_ranges_find(&reservations, address);
	/* Only a multicast object may be mapped from an offset other than 0. */
	if (physical && reserved && (offset_bytes == 0 || physical->multicast) &&
		size_bytes <= reserved->start + reserved->size_bytes - address &&
		offset_bytes <= physical->size_bytes && size_bytes <= physical->size_bytes - offset_bytes &&
		!sim_ranges_overlap(&mappings, address, size_bytes))
		result = map(address, size_bytes, offset_bytes, physical);
	sim_unlock();
	return result;
}

bool sim_mappings_cover(uintptr_t address, size_t size_bytes)
{
	uintptr_t end = address + size_bytes;
	size_t index = sim_ranges_lower_bound(&mappings, address);

	if (size_bytes == 0 || end < address)
		return false;
	while (address < end && index < mappings.count && mappings.items[index]->start == address)
		address += mappings.items[index++]->size_bytes;
	return address == end;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size_bytes)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	sim_lock();
	bool is_valid = sim_mappings_cover(address, size_bytes);
	if (is_valid) {
		remove_access(address, size_bytes);
		size_t index = sim_ranges_lower_bound(&mappings, address);
		while (index < mappings.count && mappings.items[index]->start < address + size_bytes) {
			struct sim_mapping *mapping = (struct sim_mapping *)mappings.items[index];
			sim_ranges_remove(&mappings, &mapping->range);
			mapping->physical->mappings--;
			sim_physical_drop_if_unused(mapping->physical);
			free(mapping);
		}
	}
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- access to mappings ----------------------------------------------------------------------- */

/* Returns the index of a location in a mapping's access table, or -1 for an invalid location. */
static int access_index(const CUmemLocation *location)
{
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		return sim_device_find(location->id) ? location->id : -1;
	return location->type >= CU_MEM_LOCATION_TYPE_HOST &&
			location->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
		? SIM_MAX_DEVICES
		: -1;
}

static bool are_valid(const CUmemAccessDesc *descriptors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (access_index(&descriptors[i].location) < 0 ||
			(descriptors[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
				descriptors[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
				descriptors[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return false;
	return true;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc *descriptors,
	size_t count)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!descriptors || count == 0 || !are_valid(descriptors, count))
		return CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	bool is_valid = sim_mappings_cover(address, size_bytes);
	size_t index = sim_ranges_lower_bound(&mappings, address);
	while (is_valid && index < mappings.count &&
		mappings.items[index]->start < address + size_bytes) {
		struct sim_mapping *mapping = (struct sim_mapping *)mappings.items[index++];
		for (size_t i = 0; i < count; i++)
			mapping->access[access_index(&descriptors[i].location)] = descriptors[i].flags;
		is_valid = mprotect((void *)mapping->range.start, mapping->range.size_bytes,
					   protection_of(mapping)) == 0;
	}
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location,
	CUdeviceptr address)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_flags || !location || access_index(location) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct sim_mapping *mapping = sim_mapping_at(address);
	if (mapping)
		*ret_flags = mapping->access[access_index(location)];
	sim_unlock();
	return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void sim_vmm_list(struct sim_list *list)
{
	for (size_t i = 0; i < mappings.count; i++) {
		const struct sim_mapping *mapping = (const struct sim_mapping *)mappings.items[i];
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_MAPPING,
				.device = sim_ordinal_of(mapping->physical->device),
				.address = mapping->range.start,
				.object = (uintptr_t)mapping->physical,
				.size_bytes = mapping->range.size_bytes,
			});
	}
	for (size_t i = 0; i < reservations.count; i++)
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_RESERVATION,
				.device = -1,
				.address = reservations.items[i]->start,
				.size_bytes = reservations.items[i]->size_bytes,
			});
}
