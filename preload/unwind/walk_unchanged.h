/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_WALK_UNCHANGED_H
#define GMT_UNWIND_WALK_UNCHANGED_H

/*
 * Compares a stack with the last stack that was taken, word by word. In a loop the two are always
 * equal. So these functions are inlined where stacks are taken, and they call no other function.
 * walk_slots.h explains why the comparison is exact.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule_cache.h"
#include "unwind/walk.h"
#include "unwind/walk_slots.h"

/*
 * Returns whether the stack holds the remembered return addresses of four rows from `at` on. It
 * needs only one branch for all four.
 */
static inline bool gmt_walk_four_match(const struct gmt_walk *walk, size_t at, uint64_t origin)
{
	const uint32_t *slots = &walk->slots[at];
	const uint64_t *addresses = &walk->addresses[at];
	uint64_t differ = gmt_walk_return_differs(origin, slots[0], addresses[0]);

	differ |= gmt_walk_return_differs(origin, slots[1], addresses[1]);
	differ |= gmt_walk_return_differs(origin, slots[2], addresses[2]);
	differ |= gmt_walk_return_differs(origin, slots[3], addresses[3]);
	return !differ;
}

/*
 * Returns whether the stack holds the remembered return addresses of rows [begin, GMT_WALK_FRAMES).
 * Also returns false if these are less than four rows.
 */
static inline bool gmt_walk_returns_match(const struct gmt_walk *walk, size_t begin,
	uint64_t origin)
{
	enum { FOUR = 4 };
	size_t at = (begin | (FOUR - 1)) + 1;

	/*
	 * From `at` on, the rows are a multiple of four. Up to three rows are compared twice, which
	 * costs less than a loop for the remaining rows.
	 */
	if (begin > GMT_WALK_FRAMES - FOUR || !gmt_walk_four_match(walk, begin, origin))
		return false;
	for (; at < GMT_WALK_FRAMES; at += FOUR)
		if (__builtin_expect(!gmt_walk_four_match(walk, at, origin), 0))
			return false;
	return true;
}

_Static_assert(GMT_WALK_FRAMES % 4 == 0, "rows are compared by fours, up to the last");

/*
 * Returns whether the stack of a function equals the last stack that was taken. `ip` is the return
 * address of the function; `sp` and `fp` are the registers after the return. Call it only if
 * gmt_walk_is_verified(walk).
 *
 * If the function's frame equals the innermost remembered frame, its stack pointer lies on the
 * thread's own stack, like the remembered stack pointer. This stack pointer is at or above the
 * current one, and the words of all other frames lie at or above it:
 *
 * - Each return address lies in the word below its frame's stack pointer, and stack pointers grow
 *   outwards.
 * - Each frame pointer lies at or above the stack pointer of the next inner frame.
 *
 * The innermost frame's own frame pointer was not read from memory.
 */
static inline bool gmt_walk_is_unchanged(const struct gmt_walk *walk, uint64_t ip, uint64_t sp,
	uint64_t fp)
{
	const uint32_t begin = walk->begin;
	uint64_t origin = gmt_walk_origin(walk);

	/*
	 * Keeps `origin` in one register. The compiler would otherwise compute the addresses of the
	 * words again and again.
	 */
	__asm__("" : "+r"(origin));
	if (!gmt_rule_cache_unchanged(walk->generation) || walk->addresses[begin] != ip ||
		gmt_walk_slot_address(origin, walk->slots[begin]) != sp ||
		!gmt_walk_returns_match(walk, (size_t)begin + 1, origin))
		return false;

	const uint16_t mark = walk->fp_marks[begin];

	return __builtin_expect(!mark, 1) ||
		((!gmt_walk_fp_matters(mark) || walk->fp == fp) &&
			gmt_walk_words_match(walk->fp_slots, walk->fp_values, gmt_walk_fp_words(mark), origin));
}

/*
 * Returns whether gmt_walk_is_unchanged may be called for the stack that the last walk found by
 * rules. The walk remembers this whole stack, and each word that it depends on is verified.
 */
static inline bool gmt_walk_is_verified(const struct gmt_walk *walk)
{
	return walk->begin < GMT_WALK_FRAMES && !walk->has_unverified_words &&
		walk->stack_end != GMT_STACK_CUT;
}

#endif
