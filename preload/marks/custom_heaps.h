/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_CUSTOM_HEAPS_H
#define GMT_MARKS_CUSTOM_HEAPS_H

/*
 * Custom heaps: memory pools that the program declares, and the blocks that they hand out. In the
 * flow: gpumemtrace.h, NVTX -> heaps -> ring. A heap may exist before the recording starts. The
 * recorder records the heap before the first of its blocks. Blocks of heaps do not start a
 * recording.
 *
 * All functions: any thread, any time, no lock, no allocation. At most GMT_HEAPS_MAX heaps exist at
 * one time. Any further heap gets number 0: its blocks are not recorded, and a note in the
 * recording says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { GMT_HEAPS_MAX = 1024 };

/*
 * Registers a heap and returns its number. `name` is copied, and cut like a mark's name. `address`
 * and `size_bytes` may be 0: unknown.
 */
uint32_t gmt_custom_heap_begin(enum gmt_mark_source source, const char *name, size_t length,
	uint64_t address, uint64_t size_bytes);

/* All functions below ignore an invalid heap number. */
void gmt_custom_heap_resize(uint32_t number, uint64_t size_bytes);
void gmt_custom_heap_reset(uint32_t number); /* ends all blocks of the heap */
void gmt_custom_heap_end(uint32_t number);   /* ends all blocks of the heap, and the heap */

struct gmt_heap_block {
	uint64_t address;
	uint64_t size_bytes;
};

/* Records blocks that the heap has just handed out. The blocks share one stack. */
void gmt_custom_heap_alloc(uint32_t number, const struct gmt_heap_block *blocks, size_t count,
	uint64_t stream);

/* Records that a heap is about to take a block back. `number` 0: the heap that has the block. */
void gmt_custom_heap_free(uint32_t number, uint64_t address);

/* Records a new size of the block at `address`, in the heap that has the block. */
void gmt_custom_heap_resize_block(uint64_t address, uint64_t size_bytes);

/* Stores the handle by which NVTX identifies the heap. */
void gmt_custom_heap_set_handle(uint32_t number, const void *handle);
/* Returns the newest heap with that handle, or 0. */
uint32_t gmt_custom_heap_by_handle(const void *handle);

#endif
