/* SPDX-License-Identifier: MIT */
#include "python/python_unchanged_frames.h"

/*
 * Why a walk (gmt_python_walk_next) would find the frames that are copied from the last stack.
 *
 * A walk looks at words of the frame, at its code object, and at whether the next frame is the
 * interpreter's own.
 *
 * - The words are compared as they stand in memory. Those of each frame are compared before the
 *   next frame is read. So only frames that are on the stack now are read.
 * - The fingerprint shows that the code object is the same, and code objects do not change.
 * - The next frame is the interpreter's own if its owner is the interpreter again. It is not the
 *   interpreter's own if it equals the next frame of the last stack. In other cases the frame
 *   before it does not count as unchanged.
 */

/* Returns whether the code object is the same, if each code object has its own fingerprint. */
static inline bool is_same_code(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_frame *remembered)
{
	return gmt_python_code_fingerprint(layout, remembered->code) == remembered->fingerprint &&
		(!layout->code_type ||
			gmt_python_load(remembered->code, GMT_PYTHON_TYPE) == layout->code_type);
}

__attribute__((always_inline)) static inline uint32_t take_unchanged_by(
	const struct gmt_python_layout *layout, const struct gmt_python_trace_frame *remembered,
	uint32_t count, bool counts_code_frees, enum gmt_python_walk walk, const char **frame)
{
	const uint32_t code = layout->frame.code, instr = layout->frame.instr,
				   previous = layout->frame.previous;
	const uint32_t owner = layout->frame.owner, entry = layout->frame.entry;
	const uintptr_t tag = walk == GMT_PYTHON_WALK_SHIMS ? 3 : 0;
	const struct gmt_python_trace_frame *first = remembered, *end = remembered + count;
	const char *next = *frame;

	for (; remembered < end; remembered++) {
		const char *at = remembered->frame, *known = at;

		/*
		 * Hides from the compiler that `at` equals `next`. `at` comes from the recorder's memory,
		 * so the loads of the frame do not wait for the word that leads to the frame.
		 */
		__asm__("" : "+r"(known));
		if (known != next ||
			((uintptr_t)gmt_python_load(at, code) & ~tag) != (uintptr_t)remembered->code ||
			gmt_python_load_long(at, instr) != remembered->instr ||
			gmt_python_load(at, previous) != remembered->previous ||
			gmt_python_kind_of(walk, at + owner, at + entry) != remembered->kind ||
			(!counts_code_frees && !is_same_code(layout, remembered)))
			break;

		const char *outer = remembered->previous;

		if (walk == GMT_PYTHON_WALK_SHIMS && remembered->is_behind_shim) {
			if (!gmt_python_has_shim_owner(layout, outer))
				break;
			outer = gmt_python_load(outer, layout->frame.previous);
		}
		next = outer;
	}
	/* The frame outside of the last frame was examined only if it is the interpreter's own. */
	if (walk == GMT_PYTHON_WALK_SHIMS && remembered > first && next &&
		!remembered[-1].is_behind_shim)
		next = (--remembered)->frame;
	*frame = next;
	return (uint32_t)(remembered - first);
}

uint32_t gmt_python_take_unchanged(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_stack *last, uint32_t from, uint32_t limit, uint64_t code_frees,
	const char **frame)
{
	const struct gmt_python_trace_frame *remembered = &last->frames[from];
	uint32_t count = from >= last->count ? 0
		: last->count - from < limit     ? last->count - from
										 : limit;

	/* All frames of one stack have the same count of freed code objects. */
	if (!count || (code_frees && remembered->fingerprint != code_frees))
		return 0;
	if (code_frees && layout->walk == GMT_PYTHON_WALK_EACH)
		return take_unchanged_by(layout, remembered, count, true, GMT_PYTHON_WALK_EACH, frame);
	if (code_frees && layout->walk == GMT_PYTHON_WALK_FLAG)
		return take_unchanged_by(layout, remembered, count, true, GMT_PYTHON_WALK_FLAG, frame);
	/* Without version numbers and without a count, each code object would have to be read whole. */
	return layout->walk == GMT_PYTHON_WALK_SHIMS
		? take_unchanged_by(layout, remembered, count, false, GMT_PYTHON_WALK_SHIMS, frame)
		: 0;
}
