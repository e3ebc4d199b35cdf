/* SPDX-License-Identifier: MIT */
#include "python/python_outer.h"

#include <stddef.h>

/*
 * Nothing can be left out on the way: which frame called which stands in the frames alone, and a frame that is remembered
 * may be gone, and its memory too. So all are passed, by one load each; what they are is asked of the last ones.
 */

enum { AHEAD = 8 };

/* A frame that ends a stack, as gmt_python_walk_next has it. */
static bool is_end(const struct gmt_python_layout *layout, const char *frame)
{
	return !gmt_python_frame_code(layout, frame) &&
		!(layout->walk == GMT_PYTHON_WALK_SHIMS && gmt_python_is_shim(layout, frame));
}

const char *gmt_python_outer_find(const struct gmt_python_layout *layout, const char *frame, uint32_t count, const char **room)
{
	/* At most every other one is the interpreter's own. */
	uint32_t size = 2 * count + 2, at = 0, seen = 0, total = 0;
	struct gmt_python_place place;
	uint32_t previous = layout->frame.previous, code = layout->frame.code;
	const char *rest;

	while (frame && (gmt_python_load(frame, code) || !is_end(layout, frame))) {
		const char *next = gmt_python_load(frame, previous);

		if (seen++ == GMT_BOTH_ENDS_FARTHEST)
			return NULL;
		room[at] = frame;
		at = at + 1 == size ? 0 : at + 1;
		/* So many frames come of a recursion: they are as far from each other. */
		__builtin_prefetch((const void *)((uintptr_t)next + AHEAD * ((uintptr_t)next - (uintptr_t)frame)));
		frame = next;
	}
	rest = frame = room[seen < size ? 0 : at];
	while (gmt_python_walk_next(layout, &rest, &place))
		total++;
	while (total-- > count)
		gmt_python_walk_next(layout, &frame, &place);
	return frame;
}
