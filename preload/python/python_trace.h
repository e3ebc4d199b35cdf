/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_TRACE_H
#define GMT_PYTHON_PYTHON_TRACE_H

/*
 * A thread's trace: its last Python stack. The next capture looks up only the frames that have
 * changed. In the flow: the walk over frames -> trace -> python_cache -> depot. Internal to
 * python*.c. The caller of gmt_python_capture provides the memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "python/python_guard.h"
#include "python/python_outer_end.h"
#include "shared_memory/depot_entry.h"

enum { GMT_PYTHON_TRACE_FRAMES = 1024 };

/*
 * A remembered frame: its code object, the position in that object, and the fingerprint that
 * distinguishes the object from another at the same address. `instr`, `previous` and `kind` are
 * words of the frame in memory, by which python_unchanged_frames.c recognizes the frame.
 */
struct gmt_python_trace_frame {
	const char *frame, *code;
	int64_t instr; /* the word of the frame that holds the instruction */
	uint64_t fingerprint;
	const char *previous;
	uint16_t kind;       /* gmt_python_kind_of */
	bool is_behind_shim; /* `previous` is a frame of the interpreter itself */
};

/* A remembered stack, innermost frame first. */
struct gmt_python_trace_stack {
	uint32_t count;
	uint32_t id; /* in the depot; 0: no id */
	union {
		struct gmt_depot_frames stack;
		uint32_t words[1 + GMT_PYTHON_TRACE_FRAMES];
	};
	struct gmt_python_trace_frame frames[GMT_PYTHON_TRACE_FRAMES];
};

/*
 * A trace. Only one thread uses it at a time. All zero is empty. Its memory stays for as long as
 * the process lives (python/python_guard.h).
 */
struct gmt_python_trace {
	struct gmt_python_guard guard;
	uint32_t epoch; /* ids of another epoch are invalid */
	uint32_t last;  /* index in `stacks` of the last stack; the other one is for the next stack */
	uint32_t captures_since_selftest; /* stacks since the last comparison (python_selftest.h) */
	bool may_be_other_interpreter;    /* a second result of gmt_python_capture */
	/* The innermost frames; the id is that of the whole stack. */
	struct gmt_python_trace_stack stacks[2];
	/*
	 * For a stack that is deeper than the limit: `outer` holds its outermost frames (`outer.id` is
	 * unused). `both` holds both ends together. `pointers` is for the search of the outer end.
	 */
	struct gmt_python_trace_stack outer;
	union {
		struct gmt_depot_frames both;
		uint32_t both_words[1 + GMT_PYTHON_TRACE_FRAMES];
	};
	const char *pointers[GMT_PYTHON_OUTER_END_POINTERS];
};

#endif
