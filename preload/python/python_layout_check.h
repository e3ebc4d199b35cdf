/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_LAYOUT_CHECK_H
#define GMT_PYTHON_PYTHON_LAYOUT_CHECK_H

/*
 * Compares the recorder's reading of the calling thread's stack with the interpreter's public API:
 * code objects, lines, names and files. Internal to python*.c.
 *
 * It calls that API, which counts references and allocates memory. So the calling thread must hold
 * the GIL.
 */

#include "python/python_layout.h"

enum gmt_python_layout_result {
	GMT_PYTHON_LAYOUT_RIGHT,
	GMT_PYTHON_LAYOUT_WRONG,
	GMT_PYTHON_LAYOUT_UNCHECKED, /* not now: the thread has no frames, or an exception is set */
};

/*
 * Makes the comparison. `thread` is the thread state of the calling thread. If the result is
 * GMT_PYTHON_LAYOUT_WRONG, *ret_what names what differs.
 */
enum gmt_python_layout_result gmt_python_layout_check(const struct gmt_python_layout *layout,
	gmt_python_find *find, char *thread, const char **ret_what);

#endif
