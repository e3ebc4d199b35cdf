/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_PYTHON_TRACE_H
#define GMT_CAPTURE_PYTHON_TRACE_H

/*
 * A thread's last Python stack, so that the next one looks up only what has changed. In the flow: the walk over frames ->
 * trace -> (the cache of all threads) -> depot. Internal to python*.c; the caller of gmt_python_capture has the memory.
 */

#include <stdint.h>

#include "wire/depot_entry.h"

enum { GMT_PYTHON_TRACE_FRAMES = 1024 };

/* What a frame was: of which code object, where in it, and what tells that object from another at its address. */
struct gmt_python_trace_place {
	const char *frame, *code;
	int64_t instr;
	uint64_t fingerprint;
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

/* One thread uses it at a time; all zero is empty. */
struct gmt_python_trace {
	uint32_t epoch; /* ids of another one mean nothing any more */
	uint32_t last;  /* of `stacks`; the other is where a new one is made */
	uint32_t taken; /* since one was compared (capture/python_selftest.h) */
	struct gmt_python_trace_stack stacks[2];
};

#endif
