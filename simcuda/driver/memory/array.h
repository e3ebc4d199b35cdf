/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_ARRAY_H
#define SIMCUDA_ARRAY_H

/*
 * Arrays: handles with a description, for which the device is charged what their elements take (a real
 * device pads its tiles, and takes a little more). Their content is not kept. The caller holds the lock.
 */

#include "driver.h"

struct sim_physical;

/* Memory that cuMemMapArrayAsync put behind a part of a sparse or deferred array, which holds it. */
struct sim_tiles {
	struct sim_tiles *next;
	struct sim_physical *physical;
	size_t size_bytes;
	/* Which part: of level and layer, an offset and an extent; or the mip tail; all of a deferred array. */
	bool is_tail;
	unsigned int level, layer;
	uint64_t offset[3], extent[3];
};

struct CUarray_st {
	struct CUarray_st *next;
	struct CUctx_st *context;
	struct CUmipmappedArray_st *mipmap; /* a level of this one; NULL: no level */
	struct CUarray_st *planes;          /* of a format with planes: as many as that has; else NULL */
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t size_bytes; /* that its description asks for; 0 for what is mapped later, or never */
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
	uint64_t owner;   /* the external memory or graphics resource that it shows; 0: its own memory */
	bool is_borrowed; /* goes with its owner, not by cuMipmappedArrayDestroy */
	struct sim_tiles *tiles;
};

/* array_format.c, which needs no lock */
/*
 * Bytes of one level of an array so described; 0 when the description makes no sense, SIZE_MAX / 2 when
 * it is too large.
 */
size_t sim_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level);
/* Bytes of one element; 0 for formats whose elements have no whole bytes. */
size_t sim_array_element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
/* The same array's smaller level. */
CUDA_ARRAY3D_DESCRIPTOR sim_array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level);
/* How many levels there are until all dimensions are one. */
unsigned int sim_array_level_limit(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
/* How many planes the format has; 0: it has none. */
unsigned int sim_array_plane_count(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUDA_ARRAY3D_DESCRIPTOR sim_array_plane(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int plane);

/* array.c */
bool sim_array_is_live(const struct CUarray_st *array);
bool sim_mipmap_is_live(const struct CUmipmappedArray_st *mipmap);
/*
 * A mipmapped array, of a description that makes sense, that shows memory of `owner`; nothing is charged.
 * NULL when memory is short.
 */
struct CUmipmappedArray_st *sim_mipmap_new_foreign(struct CUctx_st *context,
						   const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
						   unsigned int level_count, uint64_t owner);
void sim_mipmap_free(struct CUmipmappedArray_st *mipmap);

/* array_map.c */
/* Lets go of the memory behind all parts. */
void sim_tiles_free(struct sim_tiles **tiles);
void sim_tiles_list(struct sim_list *list, const struct sim_tiles *tiles, uint64_t array);

#endif
