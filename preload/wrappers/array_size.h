/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_ARRAY_SIZE_H
#define GMT_WRAPPERS_ARRAY_SIZE_H

/*
 * Computes the bytes of arrays from their shapes, without the padding that a device may add. The
 * result is UINT64_MAX if a product overflows, and 0 for an unknown format. Pure functions.
 */

#include <stdint.h>

struct gmt_array_shape {
	uint64_t width, height, depth; /* in elements; a height or depth of 0 counts as 1 */
	unsigned channels;
	unsigned format; /* CUarray_format */
	unsigned flags;  /* CUDA_ARRAY3D_... */
};

/*
 * Returns the bytes of an array. Returns 0 if the array gets its memory later (sparse, deferred).
 */
uint64_t gmt_array_bytes(const struct gmt_array_shape *shape);

/* Same as above, for a mipmapped array with `levels` levels, or as many as its extents allow. */
uint64_t gmt_mipmap_bytes(const struct gmt_array_shape *shape, unsigned levels);

/* Returns the bytes of an array whose elements have `bits` bits. For arrays of the runtime. */
uint64_t gmt_channel_bytes(uint64_t bits, uint64_t width, uint64_t height, uint64_t depth);

#endif
