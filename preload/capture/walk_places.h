/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_WALK_PLACES_H
#define GMT_CAPTURE_WALK_PLACES_H

/* How walk.c and recall.c speak of places on a stack, and read the words there. */

#include <stdbool.h>
#include <stdint.h>

#include "capture/hash.h"
#include "capture/unwind_rule.h"
#include "capture/walk.h"

/*
 * The mark in gmt_walk_frame::place: this frame's rule counts from its frame pointer. In gmt_walk::places: its frame
 * pointer matters. The rest are words, of a stack of some megabytes.
 */
#define GMT_WALK_BY_FP ((uint32_t)1 << 31)

/* Plain memory of this process, whatever it is for the compiler, and whatever sanitizers think of it. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t gmt_walk_word(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/*
 * Places on the stack are words above its origin, which lies that far below its top, further than any stack goes: so a
 * place is half a word, and never 0.
 */
enum { GMT_WALK_ORIGIN_WORDS = 1 << 30 };

static inline uint64_t gmt_walk_origin(const struct gmt_walk *walk)
{
	return walk->own_stack.top - (uint64_t)GMT_WALK_ORIGIN_WORDS * GMT_UNWIND_WORD_BYTES;
}

static inline uint32_t gmt_walk_place(uint64_t origin, uint64_t address)
{
	return (uint32_t)((address - origin) / GMT_UNWIND_WORD_BYTES);
}

static inline uint64_t gmt_walk_address(uint64_t origin, uint32_t place)
{
	return origin + (uint64_t)place * GMT_UNWIND_WORD_BYTES;
}

/* Where code returns to that stands in the word below a place, which has no mark. */
static inline uint64_t gmt_walk_returns_to(uint64_t origin, uint32_t place)
{
	return gmt_walk_code(gmt_walk_word(gmt_walk_address(origin, place) - GMT_UNWIND_WORD_BYTES));
}

/* The hash of a stack that is `address`, and then one of hash `outer`. */
static inline uint64_t gmt_walk_hash_on(uint64_t outer, uint64_t address)
{
	return gmt_hash_fold(outer ^ 0x9e3779b97f4a7c15, address ^ 0xe7037ed1a0b428db);
}

#endif
