/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DEFINITIONS_H
#define GMT_SHARED_MEMORY_DEFINITIONS_H

/*
 * Converts depot ids to the file's ids. The file numbers stacks, frames and functions densely, in
 * the order in which events first name them. It defines each before the events that name it. In the
 * flow: depot -> definitions -> encode. Used by the recorder's writer, and by the recovery of a
 * killed process's memory (recovery.h). One thread.
 */

#include <stdint.h>

#include "containers/arena.h"
#include "containers/vec.h"
#include "shared_memory/depot_entry.h"
#include "format/format.h"

struct gmt_definitions {
	/*
	 * Returns the complete entry of a depot id, or NULL if there is no entry of that kind. The
	 * event then has no stack.
	 */
	struct gmt_depot_entry *(*find)(void *depot, uint32_t id, enum gmt_depot_kind kind);
	void *depot; /* first argument of `find` */
	uint32_t last_stack; /* last id given, by kind; 0: no id yet */
	uint32_t last_frames;
	uint32_t last_frame;
	uint32_t last_code;
	uint32_t last_name;
	struct gmt_arena lists; /* memory of the lists in `frames_rows` */
	/* new definitions that are not yet in the file */
	GMT_VEC(struct gmt_code) code_rows;
	GMT_VEC(struct gmt_frame) frame_rows;
	GMT_VEC(struct gmt_frames) frames_rows;
	GMT_VEC(struct gmt_stack) stack_rows;
	GMT_VEC(struct gmt_name) name_rows;
};

/*
 * Returns the file's id for the depot id of a native stack (0 for 0). If the stack is new, notes
 * its definition.
 */
uint32_t gmt_definitions_stack_id(struct gmt_definitions *definitions, uint32_t id);

/* Same for a Python stack, with its frames and their functions. */
uint32_t gmt_definitions_frames_id(struct gmt_definitions *definitions, uint32_t id);

/* Same for a frame, and for a function. The functions above call these for the parts of a stack. */
uint32_t gmt_definitions_frame_id(struct gmt_definitions *definitions, uint32_t id);
uint32_t gmt_definitions_code_id(struct gmt_definitions *definitions, uint32_t id);

/* Same for the name of a mark. */
uint32_t gmt_definitions_name_id(struct gmt_definitions *definitions, uint32_t id);

/*
 * Passes the new definitions to `write`, one kind at a time, in the order that a reader needs. Then
 * forgets them.
 */
void gmt_definitions_flush(struct gmt_definitions *definitions,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context);

void gmt_definitions_fini(struct gmt_definitions *definitions);

#endif
