/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_HEAPS_H
#define GMT_MARKS_HEAPS_H

/*
 * Pools of the program's own (heaps), and the blocks that they hand out. In the flow: gpumemtrace.h, NVTX
 * -> heaps -> ring. A heap may be there before the recording: the recording is told of it before the first
 * block that it sees. Blocks do not begin a recording.
 *
 * Any thread, any time; no lock, no memory. GMT_HEAPS_MAX may be there at one time; those beyond are number
 * 0, of which nothing is recorded, and a note in the recording says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { GMT_HEAPS_MAX = 1024 };

/* `name` is copied and cut as a mark's. `address` and `size_bytes` may be 0: not known. Returns its number. */
uint32_t gmt_heap_begin(enum gmt_mark_source source, const char *name, size_t length, uint64_t address,
	uint64_t size_bytes);

/* Numbers that are none are left alone by all of these. */
void gmt_heap_resize(uint32_t number, uint64_t size_bytes);
void gmt_heap_reset(uint32_t number); /* all of its blocks end */
void gmt_heap_end(uint32_t number);   /* likewise, and it is not there any more */

struct gmt_heap_block {
	uint64_t address;
	uint64_t size_bytes;
};

/* Blocks that the heap has handed out just now; they share a stack. */
void gmt_heap_alloc(uint32_t number, const struct gmt_heap_block *blocks, size_t count, uint64_t stream);

/* A block that it is about to take back. `number` 0: whichever heap has it. */
void gmt_heap_free(uint32_t number, uint64_t address);

/* A block has another size now; of whichever heap. */
void gmt_heap_resize_block(uint64_t address, uint64_t size_bytes);

/* What NVTX calls a heap. */
void gmt_heap_set_handle(uint32_t number, const void *handle);
/* The youngest heap of that handle; 0: none. */
uint32_t gmt_heap_of_handle(const void *handle);

/* In the child of a fork: a recording of its own is told anew. */
void gmt_heaps_forget_recording(void);

#endif
