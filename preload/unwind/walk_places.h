/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_WALK_PLACES_H
#define GMT_UNWIND_WALK_PLACES_H

/* How walk.c and stack_cache.c speak of places on a stack, and read the words there. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "depot/hash.h"
#include "unwind/unwind_rule.h"
#include "unwind/walk.h"

/*
 * The mark in gmt_walk_frame::place: this frame's rule counts from its frame pointer. The rest are words, of a stack of some
 * megabytes.
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

/*
 * As gmt_walk_word, for what is only compared: the compiler may read it as often as it likes, and needs one instruction less.
 */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t gmt_walk_word_again(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* 0 where code returns to `address` by the word below a place. */
static inline uint64_t gmt_walk_return_differs(uint64_t origin, uint32_t place, uint64_t address)
{
	return gmt_walk_code(gmt_walk_word_again(gmt_walk_address(origin, place) - GMT_UNWIND_WORD_BYTES)) ^ address;
}

static inline bool gmt_walk_is_return(uint64_t origin, uint32_t place, uint64_t address)
{
	return !gmt_walk_return_differs(origin, place, address);
}

/* Whether the word at a place is `value`. */
static inline bool gmt_walk_is_word(uint64_t origin, uint32_t place, uint64_t value)
{
	return gmt_walk_word_again(gmt_walk_address(origin, place)) == value;
}

/* Whether all of a few words at `places` are what `values` say. */
static inline bool gmt_walk_are_words(const uint32_t *places, const uint64_t *values, size_t count, uint64_t origin)
{
	for (size_t i = 0; i < count; i++)
		if (!gmt_walk_is_word(origin, places[i], values[i]))
			return false;
	return true;
}

/* Words that are compared without asking in between how many are left. */
enum { GMT_WALK_AT_ONCE = 4 };

/*
 * The innermost of rows [begin, end) from which on outwards the stack returns to what `addresses` say; `end`: not even the
 * outermost. All of their places are above that of the stack pointer.
 */
static inline uint32_t gmt_walk_holds_from(const uint32_t *places, const uint64_t *addresses, uint32_t begin, uint32_t end,
	uint64_t origin)
{
	size_t at = end, enough = (size_t)begin + GMT_WALK_AT_ONCE;

	/* Most of what a walk does: two loads and a comparison for each frame. */
	for (; at >= enough; at -= GMT_WALK_AT_ONCE) {
		if (!gmt_walk_is_return(origin, places[at - 1], addresses[at - 1]))
			return (uint32_t)at;
		if (!gmt_walk_is_return(origin, places[at - 2], addresses[at - 2]))
			return (uint32_t)at - 1;
		if (!gmt_walk_is_return(origin, places[at - 3], addresses[at - 3]))
			return (uint32_t)at - 2;
		if (!gmt_walk_is_return(origin, places[at - 4], addresses[at - 4]))
			return (uint32_t)at - 3;
	}
	while (at > begin && gmt_walk_is_return(origin, places[at - 1], addresses[at - 1]))
		at--;
	return (uint32_t)at;
}

/* How many of `count` words at `places` are what `values` say, up to the first that is not. */
static inline uint32_t gmt_walk_words_hold(const uint32_t *places, const uint64_t *values, uint32_t count, uint64_t origin)
{
	size_t at = 0;

	for (; at + GMT_WALK_AT_ONCE <= count; at += GMT_WALK_AT_ONCE) {
		if (!gmt_walk_is_word(origin, places[at], values[at]))
			return (uint32_t)at;
		if (!gmt_walk_is_word(origin, places[at + 1], values[at + 1]))
			return (uint32_t)at + 1;
		if (!gmt_walk_is_word(origin, places[at + 2], values[at + 2]))
			return (uint32_t)at + 2;
		if (!gmt_walk_is_word(origin, places[at + 3], values[at + 3]))
			return (uint32_t)at + 3;
	}
	while (at < count && gmt_walk_is_word(origin, places[at], values[at]))
		at++;
	return (uint32_t)at;
}

/*
 * gmt_walk::fp_marks: whether a frame's frame pointer matters, and how many of gmt_walk::fp_places are those of frames
 * outwards of it. That many is also the number of its own, if it was read.
 */
static inline uint16_t gmt_walk_fp_mark(uint32_t words, bool matters)
{
	return (uint16_t)(words << 1 | matters);
}

static inline bool gmt_walk_fp_matters(uint16_t mark)
{
	return mark & 1;
}

static inline uint32_t gmt_walk_fp_words(uint16_t mark)
{
	return mark >> 1;
}

/*
 * The frame pointer of a frame, which matters. One that was not read is the inner frame's, which matters too then; and so
 * on to one that was, or to the innermost frame's.
 */
static inline uint64_t gmt_walk_fp_of(const struct gmt_walk *walk, uint32_t at)
{
	uint32_t word = gmt_walk_fp_words(walk->fp_marks[at]);

	return word < gmt_walk_fp_words(walk->fp_marks[walk->begin]) ? walk->fp_values[word] : walk->fp;
}

/* The hash of a stack that is `address`, and then one of hash `outer`. */
static inline uint64_t gmt_walk_hash_on(uint64_t outer, uint64_t address)
{
	return gmt_hash_fold(outer ^ 0x9e3779b97f4a7c15, address ^ 0xe7037ed1a0b428db);
}

#endif
