/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_OWNERS_H
#define GMT_READER_STACKS_OWNERS_H

/*
 * Determines from stacks, by rules (owner_rules.h; docs/owners.md), which library asked for memory.
 * In the flow: rules + places -> owners, inside traces. Tables and renderers query the owners.
 *
 * The owner of memory is the first frame, from the leaf outward, that is not skipped. A block of
 * layer torch belongs to PyTorch, with this exception: the first frame outside of PyTorch is of a
 * library that a rule names, or of a native library. Then that library is the owner.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/stacks/owner_rules.h"
#include "reader/load/recording.h"

/* Owners that need no rule. */
enum {
	GMT_OWNER_UNKNOWN, /* "unknown": no stack, and the layer does not imply an owner */
	GMT_OWNER_PROGRAM, /* "program": the executable, or the user's own Python files */
	GMT_OWNER_PYTORCH, /* "PyTorch" */
};

/*
 * Says whether memory is part of an arena. A library's allocator hands out blocks of an arena, and
 * the recorder cannot see these blocks.
 */
enum gmt_owner_arena {
	GMT_ARENA_NO,
	/* its owner has an arena, but no frame shows whether this memory is part of it */
	GMT_ARENA_LIKELY,
	GMT_ARENA_YES,    /* a native function belongs to the arena */
};

/* The result of the rules for a frame. */
struct gmt_owner_match {
	uint32_t name; /* id in `names` */
	uint8_t action; /* enum gmt_owner_action */
	bool borrows;  /* also owns what a `lend` library allocated for it */
	uint8_t arena; /* enum gmt_owner_arena */
	bool is_native;
};

/* The owners of a stack. They are ids in `names`. */
struct gmt_owner_of_stack {
	uint32_t owner; /* of memory that came from the driver */
	uint32_t segment_owner; /* of memory that came from the driver, on a device */
	uint32_t block_owner; /* of a block of PyTorch's allocator */
	bool is_segment; /* PyTorch's allocator got the memory, to hand it out in blocks */
	uint8_t arena; /* enum gmt_owner_arena */
};

/* State while the frames of a stack are visited, leaf first. */
struct gmt_owner_walk {
	uint32_t owner, block_owner;
	uint32_t skipped; /* owner of the memory if no frame owns it */
	bool has_owner, has_block_owner;
	/* enum gmt_owner_arena: the maximum over native frames, and over Python frames */
	uint8_t arena, python_arena;
	bool has_native;
};

struct gmt_owners {
	const struct gmt_owner_rules *rules;
	struct gmt_owner_rules defaults; /* used if the caller gave no rules */
	struct gmt_owner_rule_cache rule_cache; /* of `rules` */
	const char *executable;
	struct gmt_intern names;
	GMT_VEC(struct gmt_owner_match) places; /* for each place */
	GMT_VEC(struct gmt_owner_of_stack) stacks;  /* for each stack */
	/* for each trace of the recording: it has no native stack, but allocates segments */
	GMT_VEC(bool) segment_traces;
};

/*
 * Prepares the owners of a recording. `rules` may be NULL for the built-in rules; otherwise they
 * must outlive `owners`. Fails only when out of memory. The caller owns `owners` (zeroed) and must
 * call gmt_owners_fini, also after a failure.
 */
enum gmt_status gmt_owners_init(struct gmt_owners *owners, const struct gmt_owner_rules *rules,
	const struct gmt_recording *recording, struct gmt_error *error);

/* Determines the match of the next place. Returns false when out of memory. */
bool gmt_owners_add_place(struct gmt_owners *owners, const struct gmt_owner_frame *frame);

/* Visits the next frame outward. The walk is zeroed before the leaf. Hidden frames count too. */
void gmt_owners_visit(const struct gmt_owners *owners, struct gmt_owner_walk *walk, uint32_t place);

/*
 * Stores the result of a walk over all frames of `stack`. `trace` is the trace that has this stack.
 * `in_cache` means that one of the frames is of PyTorch's allocator. If several stacks look equal
 * without their hidden frames, the first decides the owner. Returns false when out of memory.
 */
bool gmt_owners_store(struct gmt_owners *owners, const struct gmt_owner_walk *walk, size_t trace,
	uint32_t stack, bool in_cache);

/*
 * Returns the owner (an id) of what this stack allocated in this layer (GMT_LAYER_...) on this
 * device (or GMT_DEVICE_HOST).
 */
uint32_t gmt_owners_find(const struct gmt_owners *owners, uint32_t stack, uint32_t layer,
	int32_t device);

/*
 * Returns whether PyTorch's allocator got what this stack allocated from the driver, to hand it
 * out.
 */
bool gmt_owners_is_segment(const struct gmt_owners *owners, uint32_t stack);

/*
 * Returns whether what this stack allocated from the driver is part of its owner's arena. PyTorch's
 * segments are not.
 */
enum gmt_owner_arena gmt_owners_arena(const struct gmt_owners *owners, uint32_t stack);

/* Returns the name of an owner. A library that no rule names has its file name. Ids start at 0. */
const char *gmt_owners_name(const struct gmt_owners *owners, uint32_t owner);

void gmt_owners_fini(struct gmt_owners *owners);

#endif
