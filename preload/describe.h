/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_DESCRIBE_H
#define GMT_PRELOAD_DESCRIBE_H

/*
 * What rows of hooks.def ask about the arguments of a call: sizes of arrays, places of memory, whether a
 * stream is captured. Included by wrapper.h, which has CUDA's headers. No state, no memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routes/driver.h"
#include "wire/format.h"

/* Captures that go on in the process; streams are asked only while there are any. */
extern _Atomic int gmt_captures;

/* A graph somewhere has a memory node: from now on graphs are read when they become executable. */
void gmt_graphs_see_node(void);

static inline uint8_t gmt_captured(void *stream, enum gmt_kind captured, enum gmt_kind otherwise)
{
	if (atomic_load_explicit(&gmt_captures, memory_order_relaxed) <= 0 ||
		!gmt_driver_is_capturing((uint64_t)(uintptr_t)stream))
		return (uint8_t)otherwise;
	gmt_graphs_see_node();
	return (uint8_t)captured;
}

static inline uint8_t gmt_made_node(enum gmt_kind kind)
{
	gmt_graphs_see_node();
	return (uint8_t)kind;
}

static inline uint64_t gmt_range_bytes(uint64_t address)
{
	return gmt_driver_range_bytes(address);
}

/* Where memory lies: ids of places other than devices mean nothing here. */
static inline int gmt_location_device_plus_1(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id + 1 : 0;
}

static inline uint8_t gmt_location_space(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? GMT_SPACE_VMM : GMT_SPACE_VMM_HOST;
}

/* The value of a pool's release threshold; 0 for its other attributes. */
static inline uint64_t gmt_pool_threshold(CUmemPool_attribute attribute, const void *value)
{
	return attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? *(const uint64_t *)value : 0;
}

static inline uint64_t gmt_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Bits of one channel of an element; formats of whole elements (NV12, BC1 ...) have those of a texel. */
static inline unsigned gmt_format_bits(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 16;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 32;
	}
	return 8;
}

/* Bytes of an array as its shape says; the device may pad it. Height and depth 0 are 1. */
static inline uint64_t gmt_channel_bytes(uint64_t bits, uint64_t width, uint64_t height, uint64_t depth)
{
	return gmt_multiply(gmt_multiply(width, height ? height : 1), gmt_multiply(depth ? depth : 1, bits)) / 8;
}

static inline uint64_t gmt_array_bytes(uint64_t width, uint64_t height, uint64_t depth, unsigned channels,
	CUarray_format format)
{
	return gmt_channel_bytes((uint64_t)channels * gmt_format_bits(format), width, height, depth);
}

/* Arrays that get their memory later, by a mapping, have none now. */
enum { GMT_ARRAY_MAPPED_LATER = 0x40 | 0x80 }; /* CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING */

static inline uint64_t gmt_array_bytes_unless(unsigned flags, uint64_t width, uint64_t height, uint64_t depth,
	unsigned channels, CUarray_format format)
{
	return flags & GMT_ARRAY_MAPPED_LATER ? 0 : gmt_array_bytes(width, height, depth, channels, format);
}

/* Each level has half of the extents of the one before, at least 1; layers (CUDA_ARRAY3D_LAYERED) stay. */
static inline uint64_t gmt_mipmap_bytes(unsigned flags, uint64_t width, uint64_t height, uint64_t depth,
	unsigned channels, CUarray_format format, unsigned levels)
{
	uint64_t total = 0;

	for (unsigned level = 0; level < levels && level < 64; level++) {
		total += gmt_array_bytes_unless(flags, width, height, depth, channels, format);
		width = width > 1 ? width / 2 : width;
		height = height > 1 ? height / 2 : height;
		if (!(flags & 1))
			depth = depth > 1 ? depth / 2 : depth;
	}
	return total;
}

#endif
