/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_OUTER_H
#define GMT_PYTHON_PYTHON_OUTER_H

/*
 * The outer end of a Python stack that is deeper than what is kept of it. In the flow: the walk over frames -> outer ->
 * trace. Internal to python*.c.
 */

#include <stdint.h>

#include "unwind/both_ends.h"
#include "python/python_layout.h"

enum {
	GMT_PYTHON_OUTER_ROOM = 2 * 1024 / GMT_BOTH_ENDS_OUTER_PART + 2, /* pointers, for the most that can be asked for */
};

/*
 * Where the outermost `count` frames among those from `frame` on outwards begin; of the calling thread, which has more than
 * those. NULL when the end is not found among the next GMT_BOTH_ENDS_FARTHEST. `room` is of GMT_PYTHON_OUTER_ROOM
 * pointers. The frames of the interpreter itself count among the farthest, and not among `count`. Reads one pointer of
 * each frame on the way.
 */
const char *gmt_python_outer_find(const struct gmt_python_layout *layout, const char *frame, uint32_t count, const char **room);

#endif
