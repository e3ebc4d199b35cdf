/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DEPOT_ENTRY_H
#define GMT_SHARED_MEMORY_DEPOT_ENTRY_H

/*
 * What the depot (depot/depot.h) keeps of stacks, frames, functions and names, as it lies in memory: the
 * recorder makes it, who recovers a killed process's memory reads it.
 */

#include <stdatomic.h>
#include <stdint.h>

enum gmt_depot_kind {
	GMT_DEPOT_STACK = 1, /* struct gmt_depot_stack */
	GMT_DEPOT_FRAMES,    /* struct gmt_depot_frames */
	GMT_DEPOT_FRAME,     /* struct gmt_depot_frame */
	GMT_DEPOT_CODE,      /* struct gmt_depot_code */
	GMT_DEPOT_NAME,      /* text */
};

/* A native stack. */
struct gmt_depot_stack {
	uint32_t generation; /* of the module map; equal addresses of another generation are another stack */
	uint32_t truncated;  /* enum gmt_stack_end */
	uint64_t addresses[]; /* leaf first */
};

/* A Python stack. */
struct gmt_depot_frames {
	uint32_t truncated;
	uint32_t items[]; /* leaf first; frame id * 2 + entry bit, or 0 (records.def, `frames`) */
};

struct gmt_depot_frame {
	uint32_t code; /* id */
	uint32_t line; /* 0: not known */
};

struct gmt_depot_code {
	uint32_t first_line;
	uint32_t function_length;
	uint32_t file_length;
	char text[]; /* function, then file; UTF-8, no NULs */
};

/* What stands in the arena before each entry's bytes; 8-byte aligned. */
struct gmt_depot_entry {
	uint32_t length; /* of the bytes behind, without padding */
	uint8_t kind;
	uint8_t reserved[3];
	_Atomic uint32_t file_id; /* the writer's own mark: what the file calls it; 0: not written yet */
	uint32_t hash;
};

/* In front of the entries. An id counts GMT_DEPOT_ID_BYTES from the start of the arena: none is 0. */
struct gmt_depot_head {
	_Atomic uint64_t used_bytes; /* of the arena, this head included; entries below may not be whole yet */
	uint64_t reserved[7];
};

enum { GMT_DEPOT_ID_BYTES = 8 };

#endif
