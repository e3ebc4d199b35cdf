/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_UNCHANGED_FRAMES_H
#define GMT_PYTHON_PYTHON_UNCHANGED_FRAMES_H

/*
 * Finds the frames of a thread's Python stack that are unchanged since the last capture. In the
 * flow: the walk over frames -> unchanged -> trace. Internal to python*.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include "python/python_code.h"
#include "python/python_layout.h"
#include "python/python_trace.h"

enum {
	/* Frames of the last stack that are searched for a frame of the new stack. */
	GMT_PYTHON_NEAR_FRAMES = 16,
	/* Least size of the chunks in which frames lie one after the other, from 3.11 on. */
	GMT_PYTHON_CHUNK_BYTES = 16384,
};

/*
 * Returns a value that distinguishes a code object from another at the same address. The count of
 * freed code objects is cheap. The fingerprint costs more and stays valid longer.
 */
static inline uint64_t gmt_python_quick_fingerprint(const struct gmt_python_layout *layout,
	const char *code, uint64_t code_frees)
{
	return code_frees ? code_frees : gmt_python_code_fingerprint(layout, code);
}

/*
 * Returns the bytes of a frame that say what kind of frame it is, as far as this version has them.
 * If there are two, the owner follows the entry byte (python/python_layout.c), so one load reads
 * both.
 */
__attribute__((always_inline)) static inline uint16_t gmt_python_kind_of(enum gmt_python_walk walk,
	const char *owner, const char *entry)
{
	uint16_t both = 0;

	if (walk == GMT_PYTHON_WALK_SHIMS)
		return (uint8_t)*owner;
	if (walk == GMT_PYTHON_WALK_FLAG)
		memcpy(&both, entry, sizeof(both));
	return both;
}

/* Returns whether a frame is the interpreter's own, by its owner. */
static inline bool gmt_python_has_shim_owner(const struct gmt_python_layout *layout,
	const char *frame)
{
	return layout->walk == GMT_PYTHON_WALK_SHIMS && frame &&
		frame[layout->frame.owner] >= GMT_PYTHON_OWNER_FIRST_SHIM;
}

/* Returns the entry of the trace for a frame that the walk has reached. */
static inline struct gmt_python_trace_frame gmt_python_remember_frame(
	const struct gmt_python_layout *layout, const struct gmt_python_walked_frame *walked,
	uint64_t fingerprint)
{
	const char *previous = gmt_python_load(walked->frame, layout->frame.previous);

	return (struct gmt_python_trace_frame){
		.frame = walked->frame,
		.code = walked->code,
		.fingerprint = fingerprint,
		.previous = previous,
		.instr = gmt_python_load_long(walked->frame, layout->frame.instr),
		.kind = gmt_python_kind_of((enum gmt_python_walk)layout->walk,
			walked->frame + layout->frame.owner, walked->frame + layout->frame.entry),
		.is_behind_shim = gmt_python_has_shim_owner(layout, previous),
	};
}

/* Returns whether two frames with the same frame address are equal. */
static inline bool gmt_python_is_same_frame(const struct gmt_python_trace_frame *a,
	const struct gmt_python_trace_frame *b)
{
	return a->code == b->code && a->instr == b->instr && a->fingerprint == b->fingerprint;
}

/*
 * Finds `frame` among the next frames of the last stack, from *at on, and moves *at there. Returns
 * NULL if it is not found. Then the caller looks it up as a new frame, with the same result.
 */
static inline const struct gmt_python_trace_frame *gmt_python_find_frame(
	const struct gmt_python_layout *layout, const struct gmt_python_trace_stack *last, uint32_t *at,
	const char *frame)
{
	/*
	 * If the frame lies a little above the next remembered frame, that frame is an outer frame of
	 * it. So it is a new frame.
	 */
	if (*at < last->count && layout->walk != GMT_PYTHON_WALK_EACH &&
		(uintptr_t)frame - (uintptr_t)last->frames[*at].frame - 1 < GMT_PYTHON_CHUNK_BYTES - 1)
		return NULL;
	for (uint32_t i = *at; i < last->count && i < *at + GMT_PYTHON_NEAR_FRAMES; i++)
		if (last->frames[i].frame == frame) {
			*at = i;
			return &last->frames[i];
		}
	return NULL;
}

/*
 * Returns whether a closer look is worthwhile: the frame at the address of a remembered frame has
 * the same code and instruction.
 */
static inline bool gmt_python_may_be_unchanged(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_frame *remembered)
{
	return gmt_python_load_long(remembered->frame, layout->frame.instr) == remembered->instr &&
		gmt_python_frame_code(layout, remembered->frame) == remembered->code;
}

/*
 * Returns how many frames from `*frame` outwards equal those of the last stack from `from` on, at
 * most `limit`. Moves `*frame` to the next frame. The result may be smaller than the true number.
 * `code_frees` is gmt_python_code_frees().
 */
uint32_t gmt_python_take_unchanged(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_stack *last, uint32_t from, uint32_t limit, uint64_t code_frees,
	const char **frame);

#endif
