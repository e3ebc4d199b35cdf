/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_SAME_H
#define GMT_PYTHON_PYTHON_SAME_H

/*
 * Which frames of a thread's last Python stack are there still. In the flow: the walk over frames -> same -> trace. Internal to
 * python*.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include "python/python_code.h"
#include "python/python_layout.h"
#include "python/python_trace.h"

enum {
	GMT_PYTHON_NEAR_FRAMES = 16,    /* of the last stack that are looked at for one of the new */
	GMT_PYTHON_CHUNK_BYTES = 16384, /* that frames lie in one after the other, from 3.11 on; the least */
};

/* What tells a code object from another at the same address; the second form costs more and holds for longer. */
static inline uint64_t gmt_python_quick_fingerprint(const struct gmt_python_layout *layout, const char *code, uint64_t deaths)
{
	return deaths ? deaths : gmt_python_code_fingerprint(layout, code);
}

/*
 * The bytes of a frame that say what it is, as far as this version has them. Where there are two, the owner is behind the other
 * (python/python_layout.c): they are one load.
 */
__attribute__((always_inline)) static inline uint16_t gmt_python_kind_of(enum gmt_python_walk walk, const char *owner,
	const char *entry)
{
	uint16_t both = 0;

	if (walk == GMT_PYTHON_WALK_SHIMS)
		return (uint8_t)*owner;
	if (walk == GMT_PYTHON_WALK_FLAG)
		memcpy(&both, entry, sizeof(both));
	return both;
}

/* Whether a frame says of itself that it is the interpreter's own. */
static inline bool gmt_python_says_shim(const struct gmt_python_layout *layout, const char *frame)
{
	return layout->walk == GMT_PYTHON_WALK_SHIMS && frame && frame[layout->frame.owner] >= GMT_PYTHON_OWNER_FIRST_SHIM;
}

/* What is remembered of a frame that was walked to. */
static inline struct gmt_python_trace_place gmt_python_note_place(const struct gmt_python_layout *layout,
	const struct gmt_python_place *place, uint64_t fingerprint)
{
	const char *previous = gmt_python_load(place->frame, layout->frame.previous);

	return (struct gmt_python_trace_place){
		.frame = place->frame, .code = place->code, .fingerprint = fingerprint, .previous = previous,
		.instr = gmt_python_load_long(place->frame, layout->frame.instr),
		.kind = gmt_python_kind_of((enum gmt_python_walk)layout->walk, place->frame + layout->frame.owner,
			place->frame + layout->frame.entry),
		.is_behind_shim = gmt_python_says_shim(layout, previous),
	};
}

/* Of two with one frame. */
static inline bool gmt_python_is_same_place(const struct gmt_python_trace_place *a, const struct gmt_python_trace_place *b)
{
	return a->code == b->code && a->instr == b->instr && a->fingerprint == b->fingerprint;
}

/*
 * The place of `frame` among those of the last stack, from *at on; *at moves there. NULL when it was not near: then it is looked
 * up as one that is new, which gives the same.
 */
static inline const struct gmt_python_trace_place *gmt_python_find_place(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_stack *last, uint32_t *at, const char *frame)
{
	/* A little above the next of them it was called by that one, or by what that one called. */
	if (*at < last->count && layout->walk != GMT_PYTHON_WALK_EACH &&
		(uintptr_t)frame - (uintptr_t)last->places[*at].frame - 1 < GMT_PYTHON_CHUNK_BYTES - 1)
		return NULL;
	for (uint32_t i = *at; i < last->count && i < *at + GMT_PYTHON_NEAR_FRAMES; i++)
		if (last->places[i].frame == frame) {
			*at = i;
			return &last->places[i];
		}
	return NULL;
}

/* Whether it is worth to look at a frame closely, which is at the place of a remembered one. */
static inline bool gmt_python_may_be_same(const struct gmt_python_layout *layout, const struct gmt_python_trace_place *place)
{
	return gmt_python_load_long(place->frame, layout->frame.instr) == place->instr &&
		gmt_python_frame_code(layout, place->frame) == place->code;
}

/*
 * How many frames from `*frame` on outwards are, one by one, those of the last stack from `from` on, at most `limit`;
 * `*frame` moves behind them. May be less than there are. `deaths` is gmt_python_deaths().
 */
uint32_t gmt_python_take_same(const struct gmt_python_layout *layout, const struct gmt_python_trace_stack *last, uint32_t from,
	uint32_t limit, uint64_t deaths, const char **frame);

#endif
