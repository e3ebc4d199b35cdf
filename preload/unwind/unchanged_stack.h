/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_UNCHANGED_STACK_H
#define GMT_UNWIND_UNCHANGED_STACK_H

/*
 * Whether a stack is, word for word, the one that was taken last. A loop's always is: so this stands where stacks are taken,
 * and calls nothing. Why it is exact: walk.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rules.h"
#include "unwind/walk.h"
#include "unwind/walk_places.h"

/* Whether the stack returns to what is remembered in four rows from `at` on: one jump for all of them. */
static inline bool gmt_walk_four_hold(const struct gmt_walk *walk, size_t at, uint64_t origin)
{
	const uint32_t *places = &walk->places[at];
	const uint64_t *addresses = &walk->addresses[at];
	uint64_t differ = gmt_walk_return_differs(origin, places[0], addresses[0]);

	differ |= gmt_walk_return_differs(origin, places[1], addresses[1]);
	differ |= gmt_walk_return_differs(origin, places[2], addresses[2]);
	differ |= gmt_walk_return_differs(origin, places[3], addresses[3]);
	return !differ;
}

/* Whether the stack returns to what is remembered in rows [begin, GMT_WALK_FRAMES); false too where there are less than four. */
static inline bool gmt_walk_returns_hold(const struct gmt_walk *walk, size_t begin, uint64_t origin)
{
	enum { FOUR = 4 };
	size_t at = (begin | (FOUR - 1)) + 1;

	/* From there on fours: up to three rows are compared twice, which is less than to ask how many are left over. */
	if (begin > GMT_WALK_FRAMES - FOUR || !gmt_walk_four_hold(walk, begin, origin))
		return false;
	for (; at < GMT_WALK_FRAMES; at += FOUR)
		if (__builtin_expect(!gmt_walk_four_hold(walk, at, origin), 0))
			return false;
	return true;
}

_Static_assert(GMT_WALK_FRAMES % 4 == 0, "rows are compared by fours, up to the last");

/*
 * Whether the stack of a function that returns to `ip`, with `sp` and `fp` in its registers then, is the one that was taken last.
 * Only of one that is sure (gmt_walk_is_sure).
 *
 * The frame that it begins with is the innermost remembered one, as far as it matters; so its stack pointer is on the thread's own
 * stack, as that was. All words of the others lie at or above it, and it is not below the stack pointer of now: return
 * addresses in the words below their own stack pointers, which grow outwards, and frame pointers at or above the stack pointer of
 * their inner neighbours. The innermost frame's own frame pointer was read nowhere.
 */
static inline bool gmt_walk_is_same(const struct gmt_walk *walk, uint64_t ip, uint64_t sp, uint64_t fp)
{
	const uint32_t begin = walk->begin;
	uint64_t origin = gmt_walk_origin(walk);

	/* One register for all: the compiler would work out the address of the words below anew. */
	__asm__("" : "+r"(origin));
	if (!gmt_rules_are(walk->generation) || walk->addresses[begin] != ip || gmt_walk_address(origin, walk->places[begin]) != sp ||
		!gmt_walk_returns_hold(walk, (size_t)begin + 1, origin))
		return false;

	const uint16_t mark = walk->fp_marks[begin];

	return __builtin_expect(!mark, 1) || ((!gmt_walk_fp_matters(mark) || walk->fp == fp) &&
		gmt_walk_are_words(walk->fp_places, walk->fp_values, gmt_walk_fp_words(mark), origin));
}

/*
 * Whether that may be asked, of what a walk has found by rules: there is nothing in it that another one might find otherwise,
 * or that is not remembered.
 */
static inline bool gmt_walk_is_sure(const struct gmt_walk *walk)
{
	return walk->begin < GMT_WALK_FRAMES && !walk->is_unsure && walk->ends != GMT_STACK_CUT;
}

#endif
