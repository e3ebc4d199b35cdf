/* SPDX-License-Identifier: MIT */
#include "vmm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Physical memory: creation, references by handles and mappings, and release. */

static const size_t FILE_SIZE_BYTES = (size_t)1 << 46;

static struct sim_physical *physicals;
static int shared_file = -1;
static size_t next_file_offset;

bool sim_is_whole_units(size_t size_bytes)
{
	return size_bytes != 0 && size_bytes % SIM_GRANULARITY_BYTES == 0;
}

static bool open_shared_file(void)
{
	if (shared_file >= 0)
		return true;
	shared_file = memfd_create("simulated device memory", MFD_CLOEXEC);
	if (shared_file < 0)
		return false;
	if (ftruncate(shared_file, (off_t)FILE_SIZE_BYTES) == 0)
		return true;
	close(shared_file);
	shared_file = -1;
	return false;
}

struct sim_physical *sim_physical_new(size_t size_bytes)
{
	if (!open_shared_file() || size_bytes > FILE_SIZE_BYTES - next_file_offset)
		return NULL;
	struct sim_physical *physical = calloc(1, sizeof(*physical));
	if (!physical)
		return NULL;
	physical->size_bytes = size_bytes;
	physical->file = shared_file;
	physical->file_offset = (off_t)next_file_offset;
	physical->references = 1;
	physical->id = sim_next_id();
	physical->next = physicals;
	physicals = physical;
	next_file_offset += size_bytes;
	return physical;
}

struct sim_physical *sim_physical_new_imported(int file, size_t size_bytes)
{
	struct sim_physical *physical = calloc(1, sizeof(*physical));

	if (!physical)
		return NULL;
	physical->size_bytes = size_bytes;
	physical->file = file;
	physical->owns_file = true;
	physical->is_imported = true;
	physical->references = 1;
	physical->id = sim_next_id();
	physical->next = physicals;
	physicals = physical;
	return physical;
}

struct sim_physical *sim_physical_find(CUmemGenericAllocationHandle handle)
{
	for (struct sim_physical *live = physicals; live; live = live->next)
		if ((CUmemGenericAllocationHandle)(uintptr_t)live == handle && live->references > 0)
			return live;
	return NULL;
}

struct sim_physical *sim_physical_find_file(const struct stat *identity)
{
	struct stat own;

	for (struct sim_physical *live = physicals; live; live = live->next)
		if (live->owns_file && fstat(live->file, &own) == 0 && own.st_ino == identity->st_ino &&
			own.st_dev == identity->st_dev)
			return live;
	return NULL;
}

bool sim_physical_drop_if_unused(struct sim_physical *physical)
{
	struct sim_physical **link = &physicals;

	if (physical->references > 0 || physical->mappings > 0)
		return false;
	/*
	 * A process with an exported descriptor can import the memory again. The exporter keeps
	 * imported memory alive.
	 */
	if (physical->owns_file && !physical->is_imported && sim_file_is_open_elsewhere(physical->file))
		return false;
	while (*link != physical)
		link = &(*link)->next;
	*link = physical->next;
	/*
	 * Gives the pages back to the host. A failure only costs host memory, so the function ignores
	 * it.
	 */
	if (physical->owns_file)
		close(physical->file);
	else
		(void)!fallocate(physical->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			physical->file_offset, (off_t)physical->size_bytes);
	if (physical->device)
		sim_device_refund(physical->device, physical->charged_bytes);
	if (physical->multicast)
		sim_multicast_free(physical->multicast);
	free(physical);
	return true;
}

void sim_physicals_drop_unused(void)
{
	struct sim_physical *live = physicals;

	while (live) {
		/*
		 * Dropping a multicast object may also drop the memory bound to it, so any next pointer may
		 * be invalid. The loop starts again.
		 */
		live = sim_physical_drop_if_unused(live) ? physicals : live->next;
	}
}

/* --- functions that programs call ------------------------------------------------------------- */

/*
 * Returns an error if no memory can have these properties. Otherwise gives the device, or NULL for
 * host memory.
 */
static CUresult check_properties(const CUmemAllocationProp *properties,
	struct sim_device **ret_device)
{
	unsigned int types = (unsigned int)properties->requestedHandleTypes;

	*ret_device = NULL;
	if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	switch (properties->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		/* An id names a device only in a device location. */
		*ret_device = sim_device_find(properties->location.id);
		if (!*ret_device)
			return CUDA_ERROR_INVALID_DEVICE;
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
		if (types != CU_MEM_HANDLE_TYPE_NONE)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		if (properties->location.id < 0)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	/* There is no Windows here, and no channel between hosts. */
	return types & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
		? CUDA_ERROR_NOT_SUPPORTED
		: CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size_bytes,
	const CUmemAllocationProp *properties, unsigned long long flags)
{
	struct sim_device *device;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_handle || !properties || flags != 0 || !sim_is_whole_units(size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = check_properties(properties, &device);
	if (result != CUDA_SUCCESS)
		return result;

	sim_lock();
	struct sim_physical *physical = NULL;
	if (!device || sim_device_charge(device, size_bytes)) {
		physical = sim_physical_new(size_bytes);
		if (!physical && device)
			sim_device_refund(device, size_bytes);
	}
	if (physical) {
		physical->device = device;
		physical->charged_bytes = device ? size_bytes : 0;
		physical->properties = *properties;
		*ret_handle = (uintptr_t)physical;
	}
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	struct sim_physical *physical = sim_physical_find(handle);
	if (physical) {
		physical->references--;
		sim_physical_drop_if_unused(physical);
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
	const struct sim_mapping *mapping = sim_mapping_at((uintptr_t)address);
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
	const struct sim_physical *physical = sim_physical_find(handle);
	if (physical)
		*ret_properties = physical->properties;
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationGranularity(size_t *ret_granularity_bytes,
	const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option)
{
	(void)option;
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_granularity_bytes || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_granularity_bytes = SIM_GRANULARITY_BYTES;
	return CUDA_SUCCESS;
}

static enum simcuda_kind kind_of(const struct sim_physical *physical)
{
	if (physical->multicast)
		return SIMCUDA_KIND_MULTICAST;
	return physical->is_imported ? SIMCUDA_KIND_IMPORTED_PHYSICAL : SIMCUDA_KIND_PHYSICAL;
}

void sim_physicals_list(struct sim_list *list)
{
	sim_physicals_drop_unused();
	for (const struct sim_physical *physical = physicals; physical; physical = physical->next) {
		sim_list_add(list,
			(struct simcuda_item){
				.kind = kind_of(physical),
				.device = sim_ordinal_of(physical->device),
				.address = (uintptr_t)physical,
				.size_bytes = physical->size_bytes,
				.charged_bytes = physical->charged_bytes,
				.references = physical->references,
				.mappings = physical->mappings,
			});
		if (physical->multicast)
			sim_multicast_list(list, physical);
	}
}
