/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DEPOT_ENTRY_H
#define GMT_SHARED_MEMORY_DEPOT_ENTRY_H

/*
 * The memory layout of the depot's entries (depot/depot.h): stacks, frames, functions and names.
 * The recorder writes them. The recovery of a killed process's memory reads them.
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
	/* generation of the module map; equal addresses in another generation are another stack */
	uint32_t generation;
	uint32_t truncated;  /* enum gmt_stack_end */
	uint64_t addresses[]; /* leaf first */
};

/* A Python stack. */
struct gmt_depot_frames {
	uint32_t truncated;
	uint32_t items[]; /* leaf first; frame id * 2 + entry bit, or 0 (records.def, `frames`) */
};

struct gmt_depot_frame {
	uint32_t code; /* depot id */
	uint32_t line; /* 0: unknown */
};

struct gmt_depot_code {
	uint32_t first_line;
	uint32_t function_length;
	uint32_t file_length;
	char text[]; /* function, then file; UTF-8, no NULs */
};

/* The header of each entry in the arena, followed by the entry's bytes. 8-byte aligned. */
struct gmt_depot_entry {
	uint32_t length; /* length of the bytes that follow, without padding */
	uint8_t kind;
	uint8_t reserved[3];
	_Atomic uint32_t file_id; /* written only by the writer: the file's id; 0: not written yet */
	uint32_t hash;
};

/*
 * The head of the arena, before the entries. An id is an offset from the start of the arena, in
 * units of GMT_DEPOT_ID_BYTES. So no entry has id 0.
 */
struct gmt_depot_head {
	/* used bytes of the arena, including this head; entries below this limit may be incomplete */
	_Atomic uint64_t used_bytes;
	uint64_t reserved[7];
};

enum { GMT_DEPOT_ID_BYTES = 8 };

#endif
