/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DEFINITIONS_H
#define GMT_SHARED_MEMORY_DEFINITIONS_H

/*
 * From depot ids to the file's. The file numbers stacks, frames and functions densely in the order
 * in which events first name them, and defines each before the events that do. In the flow: depot ->
 * definitions -> encode. Used by the recorder's writer, and by who recovers a killed process's memory
 * (recovery.h). One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"
#include "shared_memory/depot_entry.h"
#include "format/format.h"

struct gmt_definitions {
	/* The entry of a depot id, whole; NULL when there is none of that kind, which then is no stack. */
	struct gmt_depot_entry *(*find)(void *depot, uint32_t id, enum gmt_depot_kind kind);
	void *depot; /* handed to it */
	uint32_t last_stack; /* ids given so far */
	uint32_t last_frames;
	uint32_t last_frame;
	uint32_t last_code;
	uint32_t last_name;
	struct gmt_arena lists; /* of the frames below */
	GMT_VEC(struct gmt_code) codes; /* met, and not yet in the file */
	GMT_VEC(struct gmt_frame) frame;
	GMT_VEC(struct gmt_frames) frames;
	GMT_VEC(struct gmt_stack) stacks;
	GMT_VEC(struct gmt_name) names;
};

/* The file's id for a depot id of a native stack (0 for 0); noted as to be defined when it is new. */
uint32_t gmt_definitions_stack(struct gmt_definitions *definitions, uint32_t id);

/* Likewise for a Python stack, with its frames and their functions. */
uint32_t gmt_definitions_frames(struct gmt_definitions *definitions, uint32_t id);

/* Likewise for one frame, and for a function; those above do it for what they are made of. */
uint32_t gmt_definitions_frame(struct gmt_definitions *definitions, uint32_t id);
uint32_t gmt_definitions_code(struct gmt_definitions *definitions, uint32_t id);

/* Likewise for the name of a mark. */
uint32_t gmt_definitions_name(struct gmt_definitions *definitions, uint32_t id);

/*
 * Hands what is to be defined to `write`, a kind at a time and in the order in which a reader needs
 * it, and forgets it.
 */
void gmt_definitions_flush(struct gmt_definitions *definitions,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context);

void gmt_definitions_fini(struct gmt_definitions *definitions);

#endif
