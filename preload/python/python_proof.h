/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_PROOF_H
#define GMT_PYTHON_PYTHON_PROOF_H

/*
 * Compares what we read of the calling thread's stack with what the interpreter's public API says of
 * it: code objects, lines, names, files. Internal to python*.c.
 *
 * It calls that API, which counts references and allocates: the calling thread must hold the GIL.
 */

#include "python/python_layout.h"

enum gmt_python_proof {
	GMT_PYTHON_PROVEN,
	GMT_PYTHON_DISPROVEN,
	GMT_PYTHON_UNPROVEN, /* not now: no frames here, or an exception is on its way */
};

/* `thread` is the thread state of the calling thread. When disproven, `ret_what` names what differs. */
enum gmt_python_proof gmt_python_prove(const struct gmt_python_layout *layout, gmt_python_find *find, char *thread,
	const char **ret_what);

#endif
