/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_H
#define GMT_PYTHON_PYTHON_H

/*
 * Python stacks, read from the interpreter's own frames. In the flow: hook -> capture -> depot.
 *
 * The frames of a thread that is inside C code do not change, and each holds its function, so
 * reading this thread's own chain needs no GIL; and taking it, or calling what counts references,
 * would be a data race, because PyTorch releases it around its operators. So: plain loads at offsets
 * known for each version (python_layout.def), checked once against the interpreter's own answer where
 * they are not, or where this thread happens to hold the GIL anyway.
 *
 * gmt_python_capture allocates nothing, takes no lock and makes no system call, with one exception:
 * while the state is GMT_PYTHON_PENDING, the first call by a thread that holds the GIL makes the
 * comparison, through the public API.
 *
 * Before 3.12 code objects have no number that tells one from the next at its address: we have them counted when they
 * die, by a function in front of the one that frees them (python/python_deaths.h). Nothing else of the interpreter is
 * changed, and with watch_code=off nothing at all: each frame's code object is then read as a whole.
 *
 * Known limits: a thread that is inside a second interpreter shows the stack of the first before 3.12;
 * while an interpreter ends, there are no stacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"

struct gmt_python_trace;

enum gmt_python_state {
	GMT_PYTHON_ABSENT,   /* this process has no interpreter (yet): ask again later, it is cheap */
	GMT_PYTHON_ON,
	GMT_PYTHON_PENDING, /* must prove itself first, and needs the GIL for it: captures give 0 until then */
	GMT_PYTHON_REFUSED, /* an interpreter whose frames this version cannot read */
};

/*
 * Looks for an interpreter and learns how to read its frames. `find` is the real dlsym(RTLD_DEFAULT,
 * name). Call it outside of hooks' hot path: when the process reaches the driver. Any thread, one at
 * a time. When it refuses, `ret_why` (may be NULL) says why in one line, for the host's stderr and
 * the snapshot's notes.
 */
enum gmt_python_state gmt_python_init(void *(*find)(const char *name), char *ret_why, uint32_t why_bytes);

/*
 * The calling thread's Python stack, at most `depth` frames (1024 are the most) of both its ends, as a depot
 * id of kind GMT_DEPOT_FRAMES; 0 when this thread runs no Python, or the depot is full (then *ret_lost
 * is set; otherwise it is left as it is). `trace` is the thread's own (python/python_trace.h): the stack is
 * remembered there, so that the next one looks up only what has changed. trace->is_unclear says of a 0 whether the thread's
 * frames could not be told from another interpreter's: the process has several, and a Python before 3.12.
 */
uint32_t gmt_python_capture(struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace, bool *ret_lost);

/*
 * Python begins to end, on the calling thread: from here on no other thread's frames are read, and none
 * is being read when this returns (after ten seconds at most). Called before Python frees the states of
 * threads that still run; without this call, such a thread may be in the middle of its own.
 */
void gmt_python_end(void);

/* Forgets cached frame ids: their depot is gone (a forked child starts anew). No capture may be going on. */
void gmt_python_reset(void);

/* "3.11.7"; "" when there is no interpreter. Static memory. */
const char *gmt_python_version(void);

#endif
