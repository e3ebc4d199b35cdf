/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_ARRAY_H
#define SIMCUDA_ARRAY_H

/*
 * Arrays: handles with a description. The device is charged for the elements. A real device pads
 * its tiles and takes slightly more. The content of arrays is not stored. The caller holds the
 * lock.
 */

#include "driver.h"

struct sim_physical;

/*
 * Memory that cuMemMapArrayAsync mapped to a part of a sparse or deferred array. It holds the
 * physical memory.
 */
struct sim_tiles {
	struct sim_tiles *next;
	struct sim_physical *physical;
	size_t size_bytes;
	/*
	 * The part that is mapped. Sparse: an offset and an extent in one level and layer, or the mip
	 * tail. Deferred: the whole array.
	 */
	bool is_tail;
	unsigned int level, layer;
	uint64_t offset[3], extent[3];
};

struct CUarray_st {
	struct CUarray_st *next;
	struct CUctx_st *context;
	/* the mipmapped array that this array is a level of; otherwise NULL */
	struct CUmipmappedArray_st *mipmap;
	/* one array for each plane of the format; NULL if the format has no planes */
	struct CUarray_st *planes;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t size_bytes; /* requested by the description; 0 if memory is mapped later, or never */
	size_t charged_bytes;
	struct sim_tiles *tiles;
};

struct CUmipmappedArray_st {
	struct CUmipmappedArray_st *next;
	struct CUctx_st *context;
	unsigned int level_count;
	struct CUarray_st *levels;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t size_bytes;
	size_t charged_bytes;
	/* the external memory or graphics resource that owns the memory; 0: the array itself */
	uint64_t owner;
	bool is_borrowed; /* freed with its owner, not by cuMipmappedArrayDestroy */
	struct sim_tiles *tiles;
};

/* array_sizes.c: these functions need no lock */
/*
 * Returns the bytes of one level of an array with this description. Returns 0 if the description is
 * invalid, and SIZE_MAX / 2 if it is too large.
 */
size_t sim_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level);
/* Returns the bytes of one element, or 0 for formats whose elements are not whole bytes. */
size_t sim_array_element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
/* Returns the description of a smaller level of the array. */
CUDA_ARRAY3D_DESCRIPTOR sim_array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int level);
/* Returns how many levels there are until all dimensions are 1. */
unsigned int sim_array_level_limit(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
/* Returns how many planes the format has, or 0 for a format without planes. */
unsigned int sim_array_plane_count(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUDA_ARRAY3D_DESCRIPTOR sim_array_plane(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int plane);

/* array.c */
bool sim_array_is_live(const struct CUarray_st *array);
bool sim_mipmap_is_live(const struct CUmipmappedArray_st *mipmap);
/*
 * Makes a mipmapped array that shows memory of `owner`. The description must be valid. Charges no
 * device. Returns NULL if memory is short.
 */
struct CUmipmappedArray_st *sim_mipmap_new_foreign(struct CUctx_st *context,
	const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level_count, uint64_t owner);
void sim_mipmap_free(struct CUmipmappedArray_st *mipmap);

/* array_tiles.c */
/* Releases the memory behind all parts. */
void sim_tiles_free(struct sim_tiles **tiles);
void sim_tiles_list(struct sim_list *list, const struct sim_tiles *tiles, uint64_t array);

#endif
