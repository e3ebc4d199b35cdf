/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_OUTER_END_H
#define GMT_PYTHON_PYTHON_OUTER_END_H

/*
 * Finds the outer end of a Python stack that is deeper than the depth limit. In the flow: the walk
 * over frames -> outer end -> trace. Internal to python*.c.
 */

#include <stdint.h>

#include "unwind/depth_limits.h"
#include "python/python_layout.h"

enum {
	/* In pointers; enough for the largest `count`. */
	GMT_PYTHON_OUTER_END_POINTERS = 2 * 1024 / GMT_OUTER_END_DIVISOR + 2,
};

/*
 * Returns the frame where the outermost `count` frames of the calling thread's stack begin. The
 * search goes from `frame` outwards; the stack must have more than `count` frames from there on.
 * Returns NULL if the end is not among the next GMT_OUTER_END_MAX_SEARCHED_FRAMES frames.
 * `pointers` holds GMT_PYTHON_OUTER_END_POINTERS pointers.
 *
 * The interpreter's own frames count for GMT_OUTER_END_MAX_SEARCHED_FRAMES, but not for `count`.
 */
const char *gmt_python_outer_end_find(const struct gmt_python_layout *layout, const char *frame,
	uint32_t count, const char **pointers);

#endif
