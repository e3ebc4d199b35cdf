/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>

#include "copy.h"
#include "contexts/stream.h"

/* Fills: cuMemsetD8, D16 and D32, with their forms for rows and streams. */

enum {
	HOST_PAGE_BYTES = 4096,
	/*
	 * From this size on, giving pages back to the host is cheaper than writing zeros, in time and
	 * memory.
	 */
	ZERO_BY_PAGE_BYTES = 1 << 20,
};

static void fill_zero(char *memory, size_t size_bytes)
{
	char *first_page = (char *)sim_round_up((uintptr_t)memory, HOST_PAGE_BYTES);
	size_t head_bytes = (size_t)(first_page - memory);
	size_t page_bytes = (size_bytes - head_bytes) / HOST_PAGE_BYTES * HOST_PAGE_BYTES;

	sim_lock();
	const struct sim_block *block = sim_block_find((uintptr_t)memory);
	/*
	 * Fresh pages of the device's own memory read as zeros. Clearing a large block therefore
	 * commits no memory.
	 */
	bool is_own = block && block->space != SIM_SPACE_REGISTERED &&
		madvise(first_page, page_bytes, MADV_DONTNEED) == 0;
	sim_unlock();
	if (!is_own)
		memset(first_page, 0, page_bytes);
	memset(memory, 0, head_bytes);
	memset(first_page + page_bytes, 0, size_bytes - head_bytes - page_bytes);
}

static void fill_row(char *memory, unsigned int value, size_t unit_bytes, size_t count)
{
	size_t size_bytes = unit_bytes * count;

	if (value == 0 && size_bytes >= ZERO_BY_PAGE_BYTES) {
		fill_zero(memory, size_bytes);
	} else if (unit_bytes == 1 || value == 0) {
		memset(memory, (int)value, size_bytes);
	} else {
		for (size_t i = 0; i < count; i++)
			memcpy(memory + i * unit_bytes, &value, unit_bytes);
	}
}

static CUresult fill(CUdeviceptr address, size_t pitch_bytes, unsigned int value, size_t unit_bytes,
	size_t width, size_t height, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (width == 0 || height == 0)
		return CUDA_SUCCESS;
	if (address % unit_bytes ||
		!sim_is_device_memory(address, pitch_bytes * (height - 1) + width * unit_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMSET_NODE_PARAMS captured = { address, pitch_bytes, value, (unsigned int)unit_bytes,
		width, height };
	if (sim_capture_add_fill(stream, &captured))
		return CUDA_SUCCESS;
	for (size_t row = 0; row < height; row++)
		fill_row((char *)address + row * pitch_bytes, value, unit_bytes, width);
	return CUDA_SUCCESS;
}

/* FILL(bits, type): the four functions that fill with units of this type. */
#define FILL(bits, type) \
	CUresult cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count, \
		CUstream stream) \
	{ \
		return fill(address, 0, value, sizeof(type), count, 1, stream); \
	} \
	CUresult cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count) \
	{ \
		return fill(address, 0, value, sizeof(type), count, 1, NULL); \
	} \
	CUresult cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch_bytes, type value, \
		size_t width, size_t height, CUstream stream) \
	{ \
		return fill(address, pitch_bytes, value, sizeof(type), width, height, stream); \
	} \
	CUresult cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch_bytes, type value, \
		size_t width, size_t height) \
	{ \
		return fill(address, pitch_bytes, value, sizeof(type), width, height, NULL); \
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
#undef FILL
