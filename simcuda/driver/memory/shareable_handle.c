/* SPDX-License-Identifier: MIT */
#include "vmm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Handles through which other processes reach physical memory: file descriptors. The file is the
 * memory, so it exists as long as a process has a descriptor, a handle or a mapping of it.
 */

enum { NOTE_BYTES = 4096 };

static const uint64_t SHARE_MAGIC = 0x657261686d6973; /* "simhare" */

CUresult sim_share_check(const void *ret_value, CUmemAllocationHandleType type,
	unsigned long long flags)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_value || flags != 0 || type == CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_INVALID_VALUE;
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_SUCCESS
															: CUDA_ERROR_NOT_SUPPORTED;
}

int sim_share_duplicate(int file)
{
	char path[32];

	/*
	 * Uses open, not dup: sim_file_is_open_elsewhere counts open file descriptions, and dup makes
	 * no new one.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return open(path, O_RDWR | O_CLOEXEC);
}

int sim_share_open(const struct sim_share_note *note)
{
	struct sim_share_note marked = *note;

	marked.magic = SHARE_MAGIC;
	marked.process = getpid();
	int made = memfd_create("simulated device memory, shared", MFD_CLOEXEC);
	if (made < 0)
		return -1;
	/*
	 * The description from memfd_create is not counted as a writer of the file. This new
	 * description is.
	 */
	int file = -1;
	if (ftruncate(made, (off_t)(note->memory_bytes + NOTE_BYTES)) == 0 &&
		pwrite(made, &marked, sizeof(marked), (off_t)note->memory_bytes) == sizeof(marked))
		file = sim_share_duplicate(made);
	close(made);
	return file;
}

bool sim_share_read(int file, struct sim_share_note *ret_note)
{
	struct stat status;

	if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < NOTE_BYTES)
		return false;
	return pread(file, ret_note, sizeof(*ret_note), status.st_size - NOTE_BYTES) ==
		sizeof(*ret_note) &&
		ret_note->magic == SHARE_MAGIC &&
		ret_note->memory_bytes == (uint64_t)status.st_size - NOTE_BYTES;
}

bool sim_file_is_open_elsewhere(int file)
{
	/* The kernel grants a write lease only if no other description of the file is open. */
	if (fcntl(file, F_SETLEASE, F_WRLCK) != 0)
		return true;
	fcntl(file, F_SETLEASE, F_UNLCK);
	return false;
}

/* --- physical memory -------------------------------------------------------------------------- */

static bool copy_range(int to, off_t to_offset, int from, off_t from_offset, off_t size_bytes)
{
	char buffer[1 << 14];

	while (size_bytes > 0) {
		size_t part_bytes =
			size_bytes < (off_t)sizeof(buffer) ? (size_t)size_bytes : sizeof(buffer);
		ssize_t got_bytes = pread(from, buffer, part_bytes, from_offset);
		if (got_bytes <= 0 || pwrite(to, buffer, (size_t)got_bytes, to_offset) != got_bytes)
			return false;
		from_offset += got_bytes;
		to_offset += got_bytes;
		size_bytes -= got_bytes;
	}
	return true;
}

/* Copies the ranges that were ever written. In a large allocation, these may be few. */
static bool copy_memory(int to, const struct sim_physical *physical)
{
	off_t base = physical->file_offset, end = base + (off_t)physical->size_bytes;
	off_t hole = base;

	while (hole < end) {
		off_t data = lseek(physical->file, hole, SEEK_DATA);
		if (data < 0 || data >= end)
			return true; /* only a hole is left */
		hole = lseek(physical->file, data, SEEK_HOLE);
		if (hole < 0 || hole > end)
			hole = end;
		if (!copy_range(to, data - base, physical->file, data, hole - data))
			return false;
	}
	return true;
}

/*
 * Moves physical memory to its own file. The driver does not give every memory its own file from
 * the start. A program that makes thousands of exportable handles seldom exports one, and its
 * number of descriptors is limited.
 */
static bool move_to_own_file(struct sim_physical *physical)
{
	struct sim_share_note note = {
		.kind = physical->multicast ? SIM_SHARE_MULTICAST : SIM_SHARE_MEMORY,
		.memory_bytes = physical->size_bytes,
		.properties = physical->properties,
	};
	if (physical->multicast)
		note.device_count = sim_multicast_device_count(physical->multicast);

	if (physical->owns_file)
		return true;
	int file = sim_share_open(&note);
	if (file < 0 || !copy_memory(file, physical)) {
		if (file >= 0)
			close(file);
		return false;
	}
	int old_file = physical->file;
	off_t old_offset = physical->file_offset;
	physical->file = file;
	physical->file_offset = 0;
	physical->owns_file = true;
	if (!sim_mappings_renew(physical)) {
		/*
		 * Returns to the old file, which still has all data. Mappings that were already moved are
		 * mapped to it again.
		 */
		physical->file = old_file;
		physical->file_offset = old_offset;
		physical->owns_file = false;
		(void)sim_mappings_renew(physical);
		close(file);
		return false;
	}
	(void)!fallocate(old_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, old_offset,
		(off_t)physical->size_bytes);
	return true;
}

static CUresult export_physical(struct sim_physical *physical, int *ret_file)
{
	if (!move_to_own_file(physical))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_file = sim_share_duplicate(physical->file);
	return *ret_file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemExportToShareableHandle(void *ret_handle, CUmemGenericAllocationHandle handle,
	CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult result = sim_share_check(ret_handle, type, flags);

	if (result != CUDA_SUCCESS)
		return result;
	result = CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	struct sim_physical *physical = sim_physical_find(handle);
	/*
	 * Memory that was not created for export cannot be exported. Imported memory cannot be exported
	 * again.
	 */
	if (physical && (physical->properties.requestedHandleTypes & type) && !physical->is_imported)
		result = export_physical(physical, ret_handle);
	sim_unlock();
	return result;
}

static struct sim_physical *import_new(int descriptor, const struct sim_share_note *note)
{
	struct sim_multicast *multicast = NULL;

	if (note->kind == SIM_SHARE_MULTICAST) {
		multicast = sim_multicast_new((unsigned int)note->device_count);
		if (!multicast)
			return NULL;
		sim_multicast_set_complete(multicast);
	}
	/* Same open file description as the exporter's. The driver keeps one descriptor of it. */
	int file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	struct sim_physical *physical =
		file >= 0 ? sim_physical_new_imported(file, note->memory_bytes) : NULL;
	if (!physical) {
		if (file >= 0)
			close(file);
		if (multicast)
			sim_multicast_free(multicast);
		return NULL;
	}
	physical->properties = note->properties;
	physical->multicast = multicast;
	if (!multicast && note->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		physical->device = sim_device_find(note->properties.location.id);
	return physical;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle, void *os_handle,
	CUmemAllocationHandleType type)
{
	struct sim_share_note note;
	struct stat identity;
	int descriptor = (int)(intptr_t)os_handle;
	CUresult result = sim_share_check(ret_handle, type, 0);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sim_share_read(descriptor, &note) || note.kind == SIM_SHARE_POOL ||
		fstat(descriptor, &identity) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* The exporter's device must be visible in this process. */
	if (note.kind == SIM_SHARE_MEMORY &&
		note.properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		!sim_device_find(note.properties.location.id))
		return CUDA_ERROR_NOT_SUPPORTED;

	sim_lock();
	/*
	 * Memory that this process made or has already imported is not imported twice. It gets one more
	 * reference.
	 */
	struct sim_physical *physical = sim_physical_find_file(&identity);
	if (physical)
		physical->references++;
	else
		physical = import_new(descriptor, &note);
	if (physical)
		*ret_handle = (uintptr_t)physical;
	sim_unlock();
	return physical ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- dma-buf: buffers for other drivers ------------------------------------------------------- */

/* Makes a descriptor with the description of a dma-buf. It keeps no memory alive. */
static CUresult open_token(size_t size_bytes, int *ret_file)
{
	int file = memfd_create("simulated dma-buf", MFD_CLOEXEC);

	if (file >= 0 && ftruncate(file, (off_t)size_bytes) != 0) {
		close(file);
		file = -1;
	}
	*ret_file = file;
	return file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get_dma_buf(uintptr_t address, size_t size_bytes, int *ret_file)
{
	const struct sim_block *block = sim_block_find(address);
	const struct sim_mapping *mapping = sim_mapping_at(address);

	if (block) {
		size_t left_bytes = sim_round_up(block->range.size_bytes, (size_t)sysconf(_SC_PAGESIZE)) -
			(address - block->range.start);
		if (block->space != SIM_SPACE_DEVICE)
			return CUDA_ERROR_NOT_SUPPORTED;
		return size_bytes <= left_bytes ? open_token(size_bytes, ret_file)
										: CUDA_ERROR_INVALID_VALUE;
	}
	if (!mapping)
		return CUDA_ERROR_INVALID_VALUE;
	if (!mapping->physical->device)
		return CUDA_ERROR_NOT_SUPPORTED;
	/*
	 * The range lies in one allocation: the descriptor keeps it alive, as an exported handle does.
	 */
	if (size_bytes <= mapping->range.start + mapping->range.size_bytes - address)
		return export_physical(mapping->physical, ret_file);

	struct sim_device *device = mapping->physical->device;
	uintptr_t end = address + size_bytes;
	for (uintptr_t next = address; next < end;
		next = mapping->range.start + mapping->range.size_bytes) {
		mapping = sim_mapping_at(next);
		if (!mapping || mapping->physical->device != device)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return open_token(size_bytes, ret_file);
}

CUresult cuMemGetHandleForAddressRange(void *ret_handle, CUdeviceptr address, size_t size_bytes,
	CUmemRangeHandleType type, unsigned long long flags)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_handle || size_bytes == 0 || address % page_bytes || size_bytes % page_bytes ||
		address + size_bytes < address || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags != 0)
		return flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE ? CUDA_ERROR_NOT_SUPPORTED
																	: CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result = get_dma_buf(address, size_bytes, ret_handle);
	sim_unlock();
	return result;
}
