/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_TRACES_H
#define GMT_READER_STACKS_TRACES_H

/*
 * Merged stacks. Each pair of a native and a Python stack becomes one stack. In it, the Python
 * frames replace the native frames of the interpreter's loop that ran them. Equal merged stacks are
 * stored once. In the flow: recording + symbols -> traces -> replay, renderers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/stacks/frame_kinds.h"
#include "reader/stacks/owners.h"
#include "reader/load/recording.h"

struct gmt_symbols_cache; /* reader/symbols/symbols_cache.h */

enum gmt_place_kind { GMT_PLACE_NATIVE, GMT_PLACE_PYTHON };

/*
 * A line of the program, which is a frame of merged stacks. Strings are ids in `strings`. Id 0 is
 * the empty string: unknown.
 */
struct gmt_place {
	uint32_t kind; /* enum gmt_place_kind */
	uint32_t function;
	uint32_t file;
	uint32_t line; /* 0: unknown */
	uint32_t module;
};

/*
 * Pseudo frame (native, without a module) after the outermost frame, if the unwinder did not find
 * its caller.
 */
#define GMT_TRACES_STOPPED "[unknown-caller]"

/* Pseudo frame in place of native or Python frames beyond the depth limit. */
#define GMT_TRACES_LEFT_OUT "[frames-left-out]"

/* Which native frames a merged stack keeps. */
enum gmt_traces_native {
	GMT_TRACES_TRIMMED, /* all except those inside the Python interpreter */
	GMT_TRACES_ALL,
	GMT_TRACES_NONE,    /* no native frames where there are Python frames */
};

struct gmt_traces_options {
	enum gmt_traces_native native;
	const char *const *symbol_directories;
	size_t symbol_directory_count;
	/* results of earlier runs and recordings; may be NULL */
	struct gmt_symbols_cache *symbols_cache;
	const struct gmt_owner_rules *owner_rules; /* NULL: the built-in rules */
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
	uint32_t *stack_of_trace; /* for each trace of the recording: id in `stacks` */
	size_t trace_count;
	/* for each stack: frame kinds of its frames, including hidden frames (frame_kinds.h) */
	GMT_VEC(uint32_t) stack_frame_kinds;
	GMT_VEC(uint32_t) place_frame_kinds; /* for each place: its frame kinds */
	GMT_VEC(uint8_t) place_ownership;  /* for each place: see gmt_traces_ownership */
	/* for each stack, including hidden frames: the library that asked (owners.h) */
	struct gmt_owners owners;

	uint64_t addresses;  /* number of different native addresses */
	uint64_t named;      /* those with a function */
	uint64_t with_line;      /* those with a line */
	uint64_t mismatches; /* stacks whose native and Python parts did not fit together */
	uint64_t missing;    /* stacks, frames and functions that the file refers to but lacks */
	GMT_VEC(struct gmt_traces_problem) problems;
};

/*
 * Merges the stacks of all traces of the recording. Fails only when out of memory. The caller owns
 * `ret_traces` (zeroed) and frees it with gmt_traces_fini.
 */
enum gmt_status gmt_traces_compute(struct gmt_traces *ret_traces,
	const struct gmt_recording *recording, const struct gmt_traces_options *options,
	struct gmt_error *error);

/* Returns the places of a merged stack, leaf first. */
const uint32_t *gmt_traces_stack(const struct gmt_traces *traces, uint32_t stack,
	uint32_t *ret_count);

const struct gmt_place *gmt_traces_place(const struct gmt_traces *traces, uint32_t place);

/* Returns whether a merged stack has a Python frame. */
bool gmt_traces_has_python(const struct gmt_traces *traces, uint32_t stack);

/* Returns the string with an id; "" for id 0. */
const char *gmt_traces_string(const struct gmt_traces *traces, uint32_t string);

/*
 * Returns the index of the frame by which the user will recognize this stack; 0 if the stack is
 * empty. It is the first of these that exists:
 *
 * - the innermost Python frame outside of installed packages and the standard library
 * - the innermost Python frame without a file (`python -c`, generated code)
 * - the loop of PyTorch's pin-memory thread
 * - the innermost Python frame
 * - the innermost native frame with a line, outside of system folders and packages
 * - the innermost native frame outside of system folders and packages
 * - the innermost step of a backward pass
 * - the outermost PyTorch operator
 * - the leaf
 */
uint32_t gmt_traces_own_line(const struct gmt_traces *traces, uint32_t stack);

/* Returns how likely the user wrote this frame, for gmt_traces_own_line. Higher is more likely. */
uint8_t gmt_traces_ownership(const struct gmt_traces *traces, const struct gmt_place *place);

/*
 * Returns whether a frame is the loop of the thread in which PyTorch's DataLoader pins batches. Its
 * stack has no line of the user's code.
 */
bool gmt_traces_is_pin_thread(const struct gmt_traces *traces, const struct gmt_place *place);

/*
 * Returns whether a Python file is the user's: neither of an installed package nor of the standard
 * library.
 */
bool gmt_traces_is_own_file(const char *file);

/*
 * Returns whether a native frame is the user's: neither of the system nor of an installed package.
 */
bool gmt_traces_is_own_native(const struct gmt_traces *traces, const struct gmt_place *place);

void gmt_traces_fini(struct gmt_traces *traces);

#endif
