/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_TRACES_H
#define GMT_READER_STACKS_TRACES_H

/*
 * Merged stacks: each pair of a native and a Python stack becomes one, in which every native frame
 * of the interpreter's loop is replaced by the Python frames that it ran. Equal merged stacks are
 * one. In the flow: snapshot + symbols -> traces -> replay, renderers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/stacks/frame_kinds.h"
#include "reader/stacks/owners.h"
#include "reader/load/snapshot.h"

struct gmt_symbols_cache; /* reader/symbols/symbols_cache.h */
struct gmt_symbols_pool;  /* reader/symbols/symbols_pool.h */

enum gmt_place_kind { GMT_PLACE_NATIVE, GMT_PLACE_PYTHON };

/* A frame of a merged stack. Strings are ids in `strings`; id 0 is the empty one: not known. */
struct gmt_place {
	uint32_t kind; /* enum gmt_place_kind */
	uint32_t function;
	uint32_t file;
	uint32_t line; /* 0: not known */
	uint32_t module;
};

/* A native frame of no module that stands behind the outermost one of which it is not known who called it. */
#define GMT_TRACES_STOPPED "[unknown-caller]"

/* Likewise in place of frames beyond the depth limit, native or Python ones. */
#define GMT_TRACES_LEFT_OUT "[frames-left-out]"

/* Which native frames stay. */
enum gmt_traces_native {
	GMT_TRACES_TRIMMED, /* all but those inside the Python interpreter */
	GMT_TRACES_ALL,
	GMT_TRACES_NONE,    /* none where there are Python frames */
};

struct gmt_traces_options {
	enum gmt_traces_native native;
	const char *const *symbol_directories;
	size_t symbol_directory_count;
	struct gmt_symbols_pool *symbols_pool; /* for several recordings after each other; NULL: none */
	struct gmt_symbols_cache *symbols_cache; /* of former runs; NULL: none */
	const struct gmt_owner_rules *owner_rules; /* NULL: the built-in ones */
};

/* A module whose addresses got no names. */
struct gmt_traces_problem {
	const char *module; /* path */
	const char *why;
};

struct gmt_traces {
	struct gmt_intern strings;
	struct gmt_intern places; /* struct gmt_place */
	struct gmt_intern stacks; /* arrays of place ids, leaf first */
	uint32_t *stack_of_trace; /* by index of snapshot->traces: id in stacks */
	size_t trace_count;
	GMT_VEC(uint32_t) stack_landmarks; /* by stack: bits of its frames, of hidden ones too (frame_kinds.h) */
	GMT_VEC(uint32_t) place_landmarks; /* by place */
	GMT_VEC(uint8_t) place_ownership;  /* by place: see gmt_traces_ownership */
	struct gmt_owners owners;          /* by stack, of hidden frames too: which library asked (owners.h) */

	uint64_t addresses;  /* different native ones */
	uint64_t named;      /* of them, with a function */
	uint64_t lined;      /* of them, with a line */
	uint64_t mismatches; /* stacks whose native and Python halves did not fit together */
	uint64_t missing;    /* stacks, frames, functions that are named but not in the file */
	GMT_VEC(struct gmt_traces_problem) problems;
};

/* Fails only for lack of memory. `ret_traces` (zeroed) is the caller's; end it with gmt_traces_fini. */
enum gmt_status gmt_traces_init(struct gmt_traces *ret_traces, const struct gmt_snapshot *snapshot,
	const struct gmt_traces_options *options, struct gmt_error *error);

/* The places of a merged stack, leaf first. */
const uint32_t *gmt_traces_stack(const struct gmt_traces *traces, uint32_t stack, uint32_t *ret_count);

const struct gmt_place *gmt_traces_place(const struct gmt_traces *traces, uint32_t place);

/* Whether a merged stack has a Python frame. */
bool gmt_traces_has_python(const struct gmt_traces *traces, uint32_t stack);

/* "" for id 0. */
const char *gmt_traces_string(const struct gmt_traces *traces, uint32_t string);

/*
 * The frame in which the user will know this stack: the innermost Python frame outside of installed
 * packages and the standard library, else the loop of PyTorch's pin-memory thread, else the innermost
 * Python frame, else the innermost native one outside of system folders and packages (with a line, if
 * one has), else the step of a backward pass or the operator of PyTorch that it is in, else the leaf.
 * Index in the stack; 0 when it is empty.
 */
uint32_t gmt_traces_own_line(const struct gmt_traces *traces, uint32_t stack);

/* How surely a frame is one that the user wrote, for gmt_traces_own_line: the more the higher. */
uint8_t gmt_traces_ownership(const struct gmt_traces *traces, const struct gmt_place *place);

/* Whether a frame is the loop of the thread in which PyTorch's DataLoader pins batches: no line of the user's is on its stack. */
bool gmt_traces_is_pin_thread(const struct gmt_traces *traces, const struct gmt_place *place);

/* Whether a Python file is the user's: not of an installed package, nor of the standard library. */
bool gmt_traces_is_own_file(const char *file);

/* Whether a native frame is the user's: not of the system, nor of an installed package. */
bool gmt_traces_is_own_native(const struct gmt_traces *traces, const struct gmt_place *place);

void gmt_traces_fini(struct gmt_traces *traces);

#endif
