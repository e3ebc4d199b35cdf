/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_OWNERS_H
#define GMT_READER_STACKS_OWNERS_H

/*
 * Which library asked for memory, told from stacks by rules (owner_rules.h; docs/owners.md). In the flow:
 * rules + places -> owners, inside traces; asked by tables and renderers. One thread.
 *
 * The owner of memory is the first frame, leaf outwards, that is not skipped. A block of layer torch is
 * PyTorch's, unless the first frame outside of PyTorch is a library's that a rule names, or a native library.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/stacks/owner_rules.h"
#include "reader/load/snapshot.h"

/* Owners that no rule needs to name. */
enum {
	GMT_OWNER_UNKNOWN, /* "unknown": there is no stack, and the layer does not tell */
	GMT_OWNER_PROGRAM, /* "program": the executable, or the user's own Python files */
	GMT_OWNER_PYTORCH, /* "PyTorch" */
};

/* Whether memory is a piece from which an allocator hands out blocks that nobody sees. */
enum gmt_owner_arena {
	GMT_ARENA_NO,
	GMT_ARENA_LIKELY, /* its owner has an arena, and no frame tells whether this is a piece of it */
	GMT_ARENA_YES,    /* a native function is the arena's */
};

/* What is said of a frame. */
struct gmt_owner_verdict {
	uint32_t name; /* id in names */
	uint8_t action; /* enum gmt_owner_action */
	bool borrows;  /* an owner also of what a lender got for it */
	uint8_t arena; /* enum gmt_owner_arena */
	bool is_native;
};

/* Of a stack; ids in names. */
struct gmt_owner_answer {
	uint32_t owner; /* of what came from the driver */
	uint32_t segment_owner; /* of that, on a device */
	uint32_t asker; /* of a block of PyTorch's */
	bool is_segment; /* PyTorch's allocator got it, to hand it out in blocks */
	uint8_t arena; /* enum gmt_owner_arena */
};

/* While the frames of a stack are passed, leaf first. */
struct gmt_owner_walk {
	uint32_t owner, asker;
	uint32_t skipped; /* what owns the memory where no frame does */
	bool has_owner, has_asker;
	uint8_t arena, python_arena; /* enum gmt_owner_arena: the most that a native frame says, and one of Python */
	bool has_native;
};

struct gmt_owners {
	const struct gmt_owner_rules *rules;
	struct gmt_owner_rules defaults; /* where the caller gave none */
	struct gmt_owner_sieve sieve; /* of `rules` */
	const char *executable;
	struct gmt_intern names;
	GMT_VEC(struct gmt_owner_verdict) places; /* by place */
	GMT_VEC(struct gmt_owner_answer) stacks;  /* by stack */
	GMT_VEC(bool) segment_traces; /* by index of snapshot->traces: without a native stack, yet of a segment */
};

/*
 * `rules` may be NULL: the built-in ones; else they must live as long. Fails only for lack of memory.
 * `owners` (zeroed) is the caller's; end it with gmt_owners_fini, also after a failure.
 */
enum gmt_status gmt_owners_init(struct gmt_owners *owners, const struct gmt_owner_rules *rules,
	const struct gmt_snapshot *snapshot, struct gmt_error *error);

/* Judges the next place. False when out of memory. */
bool gmt_owners_add_place(struct gmt_owners *owners, const struct gmt_owner_frame *frame);

/* A zeroed walk passes the next frame outwards; hidden ones count too. */
void gmt_owners_pass(const struct gmt_owners *owners, struct gmt_owner_walk *walk, uint32_t place);

/*
 * The frames of `stack` have all been passed; trace number `trace` has that stack, and `in_cache` says that
 * one of them is PyTorch's allocator. Of stacks that are equal in what is shown, the first counts. False when
 * out of memory.
 */
bool gmt_owners_keep(struct gmt_owners *owners, const struct gmt_owner_walk *walk, size_t trace, uint32_t stack,
	bool in_cache);

/* The owner of what this stack got in this layer (GMT_LAYER_...), on this device (GMT_DEVICE_HOST): an id. */
uint32_t gmt_owners_find(const struct gmt_owners *owners, uint32_t stack, uint32_t layer, int32_t device);

/* Whether what this stack got from the driver is for PyTorch's allocator to hand out. */
bool gmt_owners_is_segment(const struct gmt_owners *owners, uint32_t stack);

/* Whether what this stack got from the driver is a piece of its owner's arena; PyTorch's segments are not among them. */
enum gmt_owner_arena gmt_owners_arena(const struct gmt_owners *owners, uint32_t stack);

/* The name of an owner: the user's library by its file name. Ids count from 0. */
const char *gmt_owners_name(const struct gmt_owners *owners, uint32_t owner);

void gmt_owners_fini(struct gmt_owners *owners);

#endif
