/* SPDX-License-Identifier: MIT */
#include "python/python_outer_end.h"

#include <stddef.h>

/*
 * The search cannot skip frames: only a frame itself knows its caller, and a remembered frame and
 * its memory may be gone. So the search passes all frames, with one load each. It examines only the
 * outermost frames in full.
 */

enum { PREFETCH_FRAMES = 8 };

/* Returns whether the frame ends a stack, by the rules of gmt_python_walk_next. */
static bool is_end(const struct gmt_python_layout *layout, const char *frame)
{
	return !gmt_python_frame_code(layout, frame) &&
		!(layout->walk == GMT_PYTHON_WALK_SHIMS && gmt_python_is_shim(layout, frame));
}

const char *gmt_python_outer_end_find(const struct gmt_python_layout *layout, const char *frame,
	uint32_t count, const char **pointers)
{
	/* At most every other frame is the interpreter's own. */
	uint32_t size = 2 * count + 2, at = 0, passed = 0, total = 0;
	struct gmt_python_walked_frame walked;
	uint32_t previous = layout->frame.previous, code = layout->frame.code;
	const char *rest;

	while (frame && (gmt_python_load(frame, code) || !is_end(layout, frame))) {
		const char *next = gmt_python_load(frame, previous);

		if (passed++ == GMT_OUTER_END_MAX_SEARCHED_FRAMES)
			return NULL;
		pointers[at] = frame;
		at = at + 1 == size ? 0 : at + 1;
		/* A deep stack is a recursion, so the distances of its frames in memory are equal. */
		__builtin_prefetch((const void *)((uintptr_t)next +
			PREFETCH_FRAMES * ((uintptr_t)next - (uintptr_t)frame)));
		frame = next;
	}
	rest = frame = pointers[passed < size ? 0 : at];
	while (gmt_python_walk_next(layout, &rest, &walked))
		total++;
	while (total-- > count)
		gmt_python_walk_next(layout, &frame, &walked);
	return frame;
}
