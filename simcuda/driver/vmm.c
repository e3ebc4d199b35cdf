/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Virtual memory management: addresses are reserved, physical memory is created, one is mapped to
 * the other. Physical memory is a stretch of one sparse file in memory, so that two mappings of a
 * handle show the same bytes; the file's offsets are never used twice (there are 2^46 of them).
 */

struct physical {
	struct physical *next;
	struct sim_device *device; /* NULL: host memory */
	CUmemAllocationProp properties;
	size_t size_bytes;
	off_t file_offset;
	unsigned int references; /* handles that the program holds */
	unsigned int mappings;
};

struct mapping {
	struct sim_range range; /* first */
	struct physical *physical;
};

static const off_t FILE_SIZE_BYTES = (off_t)1 << 46;

static struct sim_ranges reservations;
static struct sim_ranges mappings;
static struct physical *physicals;
static int memory_file = -1;
static off_t next_file_offset;

static bool is_whole_units(size_t size_bytes)
{
	return size_bytes != 0 && size_bytes % SIM_GRANULARITY_BYTES == 0;
}

static struct physical *physical_find(CUmemGenericAllocationHandle handle)
{
	for (struct physical *live = physicals; live; live = live->next)
		if ((CUmemGenericAllocationHandle)(uintptr_t)live == handle && live->references > 0)
			return live;
	return NULL;
}

/* Physical memory lives as long as a handle or a mapping names it. */
static void physical_drop_if_unused(struct physical *physical)
{
	struct physical **link = &physicals;

	if (physical->references > 0 || physical->mappings > 0)
		return;
	while (*link != physical)
		link = &(*link)->next;
	*link = physical->next;
	/* Hands the host's pages back. Should it fail, only the host has less memory, so go on. */
	(void)!fallocate(memory_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, physical->file_offset,
			 (off_t)physical->size_bytes);
	if (physical->device)
		sim_device_refund(physical->device, physical->size_bytes);
	free(physical);
}

bool sim_mapping_find(uintptr_t address, struct sim_mapping_info *ret_info)
{
	const struct mapping *mapping = (const struct mapping *)sim_ranges_find(&mappings, address);

	if (!mapping)
		return false;
	ret_info->range = mapping->range;
	ret_info->device = mapping->physical->device;
	return true;
}

/* --- addresses ------------------------------------------------------------------------------------ */

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t size_bytes, size_t alignment_bytes,
			     CUdeviceptr wanted_address, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_address || !is_whole_units(size_bytes) || flags != 0 ||
	    (alignment_bytes & (alignment_bytes - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment_bytes < SIM_GRANULARITY_BYTES)
		alignment_bytes = SIM_GRANULARITY_BYTES;

	/* More than needed, of which the unaligned ends go back. */
	size_t spread_bytes = size_bytes + alignment_bytes;
	void *spread = mmap((void *)wanted_address, spread_bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct sim_range *range = malloc(sizeof(*range));
	if (spread == MAP_FAILED || !range) {
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
	bool fine = sim_ranges_insert(&reservations, range);
	sim_unlock();
	if (!fine) {
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
	bool fine = range && range->start == address && range->size_bytes == size_bytes &&
		    !sim_ranges_overlap(&mappings, address, size_bytes);
	if (fine) {
		sim_ranges_remove(&reservations, range);
		munmap((void *)address, size_bytes);
		free(range);
	}
	sim_unlock();
	return fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- physical memory ------------------------------------------------------------------------------ */

static bool open_memory_file(void)
{
	if (memory_file >= 0)
		return true;
	memory_file = memfd_create("simulated device memory", MFD_CLOEXEC);
	if (memory_file < 0)
		return false;
	if (ftruncate(memory_file, FILE_SIZE_BYTES) == 0)
		return true;
	close(memory_file);
	memory_file = -1;
	return false;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size_bytes,
		     const CUmemAllocationProp *properties, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_handle || !properties || flags != 0 || !is_whole_units(size_bytes) ||
	    properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;

	/* Only a device location has an id that means a device. */
	struct sim_device *device = NULL;
	if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		device = sim_device_find(properties->location.id);
		if (!device)
			return CUDA_ERROR_INVALID_DEVICE;
	}

	struct physical *physical = malloc(sizeof(*physical));
	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	bool fine = open_memory_file() && (off_t)size_bytes <= FILE_SIZE_BYTES - next_file_offset &&
		    (!device || sim_device_charge(device, size_bytes));
	if (fine) {
		*physical = (struct physical){
			.next = physicals,
			.device = device,
			.properties = *properties,
			.size_bytes = size_bytes,
			.file_offset = next_file_offset,
			.references = 1,
		};
		next_file_offset += (off_t)size_bytes;
		physicals = physical;
	}
	sim_unlock();
	if (!fine) {
		free(physical);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_handle = (uintptr_t)physical;
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	struct physical *physical = physical_find(handle);
	if (physical) {
		physical->references--;
		physical_drop_if_unused(physical);
	}
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct mapping *mapping = (const struct mapping *)sim_ranges_find(&mappings,
										(uintptr_t)address);
	if (mapping) {
		mapping->physical->references++;
		*ret_handle = (uintptr_t)mapping->physical;
	}
	sim_unlock();
	return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_properties,
						CUmemGenericAllocationHandle handle)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_properties)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct physical *physical = physical_find(handle);
	if (physical)
		*ret_properties = physical->properties;
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationGranularity(size_t *ret_granularity_bytes, const CUmemAllocationProp *properties,
				       CUmemAllocationGranularity_flags option)
{
	(void)option;
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_granularity_bytes || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_granularity_bytes = SIM_GRANULARITY_BYTES;
	return CUDA_SUCCESS;
}

/* --- mapping -------------------------------------------------------------------------------------- */

CUresult cuMemMap(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags != 0 || !is_whole_units(size_bytes) || address % SIM_GRANULARITY_BYTES ||
	    offset_bytes % SIM_GRANULARITY_BYTES)
		return CUDA_ERROR_INVALID_VALUE;

	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct mapping *mapping = malloc(sizeof(*mapping));
	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	struct physical *physical = physical_find(handle);
	const struct sim_range *reserved = sim_ranges_find(&reservations, address);
	if (physical && reserved && size_bytes <= reserved->start + reserved->size_bytes - address &&
	    offset_bytes <= physical->size_bytes && size_bytes <= physical->size_bytes - offset_bytes &&
	    !sim_ranges_overlap(&mappings, address, size_bytes)) {
		*mapping = (struct mapping){ { address, size_bytes }, physical };
		/* Not accessible until cuMemSetAccess says so. */
		void *memory = mmap((void *)address, size_bytes, PROT_NONE,
				    MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory_file,
				    physical->file_offset + (off_t)offset_bytes);
		if (memory != MAP_FAILED && sim_ranges_insert(&mappings, &mapping->range)) {
			physical->mappings++;
			result = CUDA_SUCCESS;
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	sim_unlock();
	if (result != CUDA_SUCCESS)
		free(mapping);
	return result;
}

/* Whether mappings cover the range without a hole, beginning and ending with it. */
static bool is_covered(uintptr_t address, size_t size_bytes)
{
	uintptr_t end = address + size_bytes;
	size_t index = sim_ranges_lower_bound(&mappings, address);

	while (address < end && index < mappings.count && mappings.items[index]->start == address)
		address += mappings.items[index++]->size_bytes;
	return address == end;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size_bytes)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	sim_lock();
	bool fine = size_bytes > 0 && is_covered(address, size_bytes);
	if (fine) {
		/* The reservation stays: nothing else may be mapped there by the host. */
		mmap((void *)address, size_bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		size_t index = sim_ranges_lower_bound(&mappings, address);
		while (index < mappings.count && mappings.items[index]->start < address + size_bytes) {
			struct mapping *mapping = (struct mapping *)mappings.items[index];
			sim_ranges_remove(&mappings, &mapping->range);
			mapping->physical->mappings--;
			physical_drop_if_unused(mapping->physical);
			free(mapping);
		}
	}
	sim_unlock();
	return fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc *descriptors,
			size_t count)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!descriptors || count == 0)
		return CUDA_ERROR_INVALID_VALUE;

	/* The strongest right that anyone gets: host and devices are one process here. */
	int protection = PROT_NONE;
	for (size_t i = 0; i < count; i++) {
		if (descriptors[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ)
			protection |= PROT_READ;
		if (descriptors[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			protection |= PROT_READ | PROT_WRITE;
	}
	sim_lock();
	bool fine = size_bytes > 0 && is_covered(address, size_bytes) &&
		    mprotect((void *)address, size_bytes, protection) == 0;
	sim_unlock();
	return fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location, CUdeviceptr address)
{
	struct sim_mapping_info info;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool is_mapped = sim_mapping_find(address, &info);
	sim_unlock();
	if (!is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

void sim_vmm_list(struct sim_list *list)
{
	for (const struct physical *physical = physicals; physical; physical = physical->next)
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_PHYSICAL,
					   .device = sim_ordinal_of(physical->device),
					   .address = (uintptr_t)physical,
					   .size_bytes = physical->size_bytes,
					   .charged_bytes = physical->device ? physical->size_bytes : 0,
					   .references = physical->references,
					   .mappings = physical->mappings,
				   });
	for (size_t i = 0; i < mappings.count; i++) {
		const struct mapping *mapping = (const struct mapping *)mappings.items[i];
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_MAPPING,
					   .device = sim_ordinal_of(mapping->physical->device),
					   .address = mapping->range.start,
					   .object = (uintptr_t)mapping->physical,
					   .size_bytes = mapping->range.size_bytes,
				   });
	}
	for (size_t i = 0; i < reservations.count; i++)
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_RESERVATION,
					   .device = -1,
					   .address = reservations.items[i]->start,
					   .size_bytes = reservations.items[i]->size_bytes,
				   });
}
