/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CAPTURE_H
#define GMT_PYTHON_PYTHON_CAPTURE_H

/*
 * Reads Python stacks from the interpreter's own frames. In the flow: hook -> capture -> depot.
 *
 * While a thread is inside C code, its frames do not change, and each frame holds a reference to
 * its function. So a thread can read its own chain of frames without the GIL. It must not take the
 * GIL. It must not call functions that count references either: PyTorch releases the GIL around its
 * operators, so such calls would be a data race. So the recorder only makes plain loads, at the
 * offsets of each version (python_layout.def). If the offsets are not certain, the recorder
 * compares its reading once with the public API's. It also does so if the thread that calls
 * gmt_python_init holds the GIL anyway.
 *
 * gmt_python_capture allocates no memory, takes no lock and makes no system call. There is one
 * exception: while the state is GMT_PYTHON_PENDING, the first call by a thread that holds the GIL
 * makes the comparison, through the public API.
 *
 * Before 3.12, no number distinguishes a code object from the next one at the same address. So the
 * recorder counts the code objects that Python frees (python/python_code_frees.h). For this it
 * replaces one function pointer in the interpreter. With watch_code=off it replaces none, and reads
 * each frame's whole code object.
 *
 * Known limits:
 *
 * - Before 3.12, a thread that is inside a second interpreter shows the stack of the first.
 * - While an interpreter ends, there are no stacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"

struct gmt_python_trace;

enum gmt_python_state {
	GMT_PYTHON_ABSENT, /* this process has no interpreter yet; a later call is cheap */
	GMT_PYTHON_ON,
	/* The layout must be checked first, which needs the GIL. Until then captures return 0. */
	GMT_PYTHON_PENDING,
	GMT_PYTHON_REFUSED, /* this version of the recorder cannot read the interpreter's frames */
};

/*
 * Looks for an interpreter and determines how to read its frames. `find` is the original
 * dlsym(RTLD_DEFAULT, name). Call it outside the hooks' hot path, when the process reaches the
 * driver. Any thread may call it, one at a time. On GMT_PYTHON_REFUSED, it writes the reason to
 * `ret_why` (may be NULL) in one line, for stderr and the notes of the recording.
 */
enum gmt_python_state gmt_python_init(void *(*find)(const char *name), char *ret_why,
	uint32_t why_bytes);

/*
 * Captures the calling thread's Python stack. A stack with more than `depth` frames (at most 1024)
 * is cut in the middle. Returns a depot id of kind GMT_DEPOT_FRAMES. Returns 0 if this thread runs
 * no Python or if the depot is full. Sets *ret_lost only if the depot is full.
 *
 * `trace` is the thread's own (python/python_trace.h). It remembers the stack, so that the next
 * call looks up only what has changed. If the result is 0, trace->may_be_other_interpreter says
 * whether the thread's frames may belong to another interpreter: the process has several, and
 * Python is older than 3.12.
 */
uint32_t gmt_python_capture(struct gmt_depot *depot, uint32_t depth, struct gmt_python_trace *trace,
	bool *ret_lost);

/*
 * Stops all captures on other threads, because Python begins to end on the calling thread. Waits at
 * most ten seconds until no other thread reads frames. Call it before Python frees the states of
 * threads that still run: such a thread might be reading its own state.
 */
void gmt_python_end(void);

/* Returns the version, such as "3.11.7"; "" if there is no interpreter. Static memory. */
const char *gmt_python_version(void);

/*
 * Forgets the cached frame ids, because their depot is gone. Work of the stage after_fork. No
 * thread may be capturing.
 */
void gmt_python_reset(void);

#endif
