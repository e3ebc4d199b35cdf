/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_TRACE_H
#define GMT_PYTHON_PYTHON_TRACE_H

/*
 * A thread's last Python stack, so that the next one looks up only what has changed. In the flow: the walk over frames ->
 * trace -> (the cache of all threads) -> depot. Internal to python*.c; the caller of gmt_python_capture has the memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "python/python_guard.h"
#include "python/python_outer.h"
#include "shared_memory/depot_entry.h"

enum { GMT_PYTHON_TRACE_FRAMES = 1024 };

/*
 * What a frame was: of which code object, where in it, and what tells that object from another at its address; and
 * words of the frame as they stood in memory, by which it is known again (python/python_same.c).
 */
struct gmt_python_trace_place {
	const char *frame, *code;
	int64_t instr; /* the word where it is told */
	uint64_t fingerprint;
	const char *previous;
	uint16_t kind;
	bool is_behind_shim; /* `previous` says that it is the interpreter's own */
};

struct gmt_python_trace_stack {
	uint32_t count;
	uint32_t id; /* in the depot; 0: none */
	union {
		struct gmt_depot_frames stack;
		uint32_t words[1 + GMT_PYTHON_TRACE_FRAMES];
	};
	struct gmt_python_trace_place places[GMT_PYTHON_TRACE_FRAMES];
};

/* One thread uses it at a time; all zero is empty. Its memory stays for as long as the process lives (python/python_guard.h). */
struct gmt_python_trace {
	struct gmt_python_guard gate;
	uint32_t epoch; /* ids of another one mean nothing any more */
	uint32_t last;  /* of `stacks`; the other is where a new one is made */
	uint32_t taken; /* since one was compared (python/python_selftest.h) */
	bool is_unclear; /* what gmt_python_capture says besides its result */
	struct gmt_python_trace_stack stacks[2]; /* the innermost frames; the id is that of the whole stack */
	/* Of one that is deeper: its outermost frames, `outer.id` unused; what both are put together in; room to find them. */
	struct gmt_python_trace_stack outer;
	union {
		struct gmt_depot_frames both;
		uint32_t both_words[1 + GMT_PYTHON_TRACE_FRAMES];
	};
	const char *room[GMT_PYTHON_OUTER_ROOM];
};

#endif
