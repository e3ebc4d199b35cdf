/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_PYTHON_SAME_H
#define GMT_CAPTURE_PYTHON_SAME_H

/*
 * Which frames of a thread's last Python stack are there still. In the flow: the walk over frames -> same -> trace. Internal to
 * python*.c.
 *
 * Why what is taken over is what a walk would find (gmt_python_walk_next): that looks at words of the frame, at its code object,
 * and at whether the next frame is the interpreter's own. The words are compared as they stand in memory, those of each
 * frame before the next one is looked at, so that nothing is read but frames that are on the stack now. The code object is the
 * one that it was, by its fingerprint, and code objects do not change. The next frame is the interpreter's own if it says so
 * again; it is none if it is found to be the next of the last stack, and else the frame in front of it is not taken over.
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/python_code.h"
#include "capture/python_layout.h"
#include "capture/python_trace.h"

enum { GMT_PYTHON_NEAR_FRAMES = 16 }; /* of the last stack that are looked at for one of the new */

/* What tells a code object from another at the same address; the second form costs more and holds for longer. */
static inline uint64_t gmt_python_quick_fingerprint(const struct gmt_python_layout *layout, const char *code, uint64_t deaths)
{
	return deaths ? deaths : gmt_python_code_fingerprint(layout, code);
}

/* The bytes of a frame that say what it is, as far as this version has them. */
__attribute__((always_inline)) static inline uint16_t gmt_python_kind_of(enum gmt_python_walk walk, const char *owner, const char *entry)
{
	return walk == GMT_PYTHON_WALK_EACH ? 0 : walk == GMT_PYTHON_WALK_SHIMS ? (uint8_t)*owner
		: (uint16_t)((uint8_t)*owner << 8 | (uint8_t)*entry);
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
		.kind = gmt_python_kind_of((enum gmt_python_walk)layout->walk, place->frame + layout->frame.owner, place->frame + layout->frame.entry),
		.is_behind_shim = gmt_python_says_shim(layout, previous),
	};
}

/* Of two with one frame. */
static inline bool gmt_python_is_same_place(const struct gmt_python_trace_place *a, const struct gmt_python_trace_place *b)
{
	return a->code == b->code && a->instr == b->instr && a->fingerprint == b->fingerprint;
}

/* The place of `frame` among those of the last stack, from *at on; *at moves there. NULL when it was not near. */
static inline const struct gmt_python_trace_place *gmt_python_find_place(const struct gmt_python_trace_stack *last, uint32_t *at,
	const char *frame)
{
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

/* Whether its code object is the same, where that is told of each by itself. */
static inline bool gmt_python_is_same_code(const struct gmt_python_layout *layout, const struct gmt_python_trace_place *place)
{
	return gmt_python_code_fingerprint(layout, place->code) == place->fingerprint &&
		(!layout->code_type || gmt_python_load(place->code, GMT_PYTHON_TYPE) == layout->code_type);
}

__attribute__((always_inline)) static inline uint32_t gmt_python_take_same_by(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_place *place, uint32_t count, bool has_deaths, enum gmt_python_walk walk, const char **frame)
{
	const uint32_t code = layout->frame.code, instr = layout->frame.instr, previous = layout->frame.previous;
	const uint32_t owner = layout->frame.owner, entry = layout->frame.entry;
	const uintptr_t tag = walk == GMT_PYTHON_WALK_SHIMS ? 3 : 0;
	const struct gmt_python_trace_place *first = place, *end = place + count;
	const char *next = *frame;

	for (; place < end; place++) {
		const char *at = place->frame, *known = at;

		/* Of memory of ours, whatever the compiler makes of two that are equal: the frame is loaded before the word that leads to it. */
		__asm__("" : "+r"(known));
		if (known != next || ((uintptr_t)gmt_python_load(at, code) & ~tag) != (uintptr_t)place->code ||
			gmt_python_load_long(at, instr) != place->instr ||
			gmt_python_load(at, previous) != place->previous ||
			gmt_python_kind_of(walk, at + owner, at + entry) != place->kind ||
			(!has_deaths && !gmt_python_is_same_code(layout, place)))
			break;
		next = place->previous;
		if (walk == GMT_PYTHON_WALK_SHIMS && place->is_behind_shim) {
			if (!gmt_python_says_shim(layout, next))
				break;
			next = gmt_python_load(next, layout->frame.previous);
		}
	}
	/* What the last of them calls from was not looked at, but where it is the interpreter's own. */
	if (walk == GMT_PYTHON_WALK_SHIMS && place > first && next && !place[-1].is_behind_shim)
		next = (--place)->frame;
	*frame = next;
	return (uint32_t)(place - first);
}

/*
 * How many frames from `*frame` on outwards are, one by one, those of the last stack from `from` on, at most `limit`;
 * `*frame` moves behind them. May be less than there are. `deaths` is gmt_python_deaths().
 */
__attribute__((noinline, unused)) static uint32_t gmt_python_take_same(const struct gmt_python_layout *layout,
	const struct gmt_python_trace_stack *last, uint32_t from, uint32_t limit, uint64_t deaths, const char **frame)
{
	const struct gmt_python_trace_place *place = &last->places[from];
	uint32_t count = from >= last->count ? 0 : last->count - from < limit ? last->count - from : limit;

	/* All places of one stack have the same count of deaths. */
	if (!count || (deaths && place->fingerprint != deaths))
		return 0;
	if (deaths && layout->walk == GMT_PYTHON_WALK_EACH)
		return gmt_python_take_same_by(layout, place, count, true, GMT_PYTHON_WALK_EACH, frame);
	if (deaths && layout->walk == GMT_PYTHON_WALK_FLAG)
		return gmt_python_take_same_by(layout, place, count, true, GMT_PYTHON_WALK_FLAG, frame);
	/* Where neither is told, each code object would be looked at as a whole. */
	return layout->walk == GMT_PYTHON_WALK_SHIMS ?
		gmt_python_take_same_by(layout, place, count, false, GMT_PYTHON_WALK_SHIMS, frame) : 0;
}

#endif
