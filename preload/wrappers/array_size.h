/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_ARRAY_SIZE_H
#define GMT_WRAPPERS_ARRAY_SIZE_H

/*
 * Bytes of arrays, as their shapes say: a device may pad them. Products that do not fit are UINT64_MAX, the
 * bytes of an unknown format 0. Pure functions.
 */

#include <stdint.h>

struct gmt_array_shape {
	uint64_t width, height, depth; /* in elements; height and depth 0 are 1 */
	unsigned channels;
	unsigned format; /* CUarray_format */
	unsigned flags;  /* CUDA_ARRAY3D_... */
};

/* 0 for an array that gets its memory later, by a mapping. */
uint64_t gmt_array_bytes(const struct gmt_array_shape *shape);

/* Likewise, with all its levels, of which there are no more than its extents allow. */
uint64_t gmt_mipmap_bytes(const struct gmt_array_shape *shape, unsigned levels);

/* Of elements with so many bits, as the runtime describes them. */
uint64_t gmt_channel_bytes(uint64_t bits, uint64_t width, uint64_t height, uint64_t depth);

#endif
