/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_WALK_SLOTS_H
#define GMT_UNWIND_WALK_SLOTS_H

/*
 * Slots: the positions of words on a stack, in walk.c and stack_cache.c. Also reads these words.
 */

/*
 * Why a splice is exact. A splice takes the inner frames from a new walk and the outer frames from
 * a remembered stack.
 *
 * A frame is (ip, sp, fp). The rule of ip is fixed as long as no object is unloaded (a new
 * generation drops all remembered frames). The rule says where the next outer frame is. Its sp is
 * sp or fp plus a constant. Its ip is the word below that sp. Its fp is the same fp, or a word at a
 * constant distance. So ip and sp of the next frame are a function of this frame and one word of
 * the stack. Its fp is a function of this frame and at most one more word.
 *
 * A stack consists of the ips of its frames. The walk needs each sp to find the frames. It needs an
 * fp only where the fp matters. The fp of a frame matters if the frame's rule counts from it. It
 * also matters if the rule leaves it in its register and the next frame's fp matters. Most
 * functions use that register for another value, perhaps a counter, which differs each time.
 *
 * Let R[0], R[1], ... R[n] be the remembered frames, each the next of the one before. For each of
 * R[i + 1] to R[n], let its ip still be in the word below its sp. If its fp matters and was read
 * from the stack, let that fp still be in the same word. Let the new walk reach a frame F with the
 * ip and sp of R[i], and with its fp if that matters. Then the frame after F has the ip and sp of
 * R[i + 1], and its fp if that matters:
 *
 * - The sp is the same: the same rule computes it from the same sp, or from the same fp. If the
 *   rule counts from the fp, the fp matters.
 * - The ip comes from the same word, which has not changed.
 * - The fp, if it matters in R[i + 1], comes from the same word, which has not changed. Or R[i]
 *   left it in its register; then the fp of R[i] matters, so F has the same fp.
 *
 * The same argument holds for that frame and R[i + 1], and so on up to R[n]. The rule of R[n] says
 * that it is the outermost frame. In two cases it does not say so: a stack that was cut, and the
 * end of a chain of frame pointers. Then the fp of R[n] counts as one that matters. So the new
 * stack is the walked frames and then R[i], ... R[n].
 *
 * R[i] itself is taken from the new walk, because its fp may now come from another word, or from no
 * word. In the kept frames nothing else changes: whether an fp matters depends only on outer
 * frames.
 *
 * The words to verify for R[i + 1] to R[n] form two lists: the return addresses, and the frame
 * pointers that matter and were read. Each list is compared from the outermost word on
 * (find_splice_frame in walk.c). Slots grow outwards in both lists. A rule goes up by at least a
 * word. A frame's fp is read at or above the sp of its inner neighbour and below its own sp (step
 * in walk.c). So if the first word of a list lies above the current stack pointer, all of them do.
 * In the second list only the fp of R[i + 1] may have been read below it, for a frame that is gone.
 * If an fp matters and was not read, it is that of its inner neighbour, which matters too. So its
 * value is that of the next inner fp that was read, or of R[0] (gmt_walk_fp_of).
 *
 * The argument does not need the remembered stack to be the last one. So a whole earlier part of a
 * stack can be reused (unwind/stack_cache.h), from R[0] on: if F is R[0] and the words are
 * unchanged, the stack is R. The words of such a part are two lists too. The hashes of its frames
 * stay valid, because they depend only on the addresses.
 *
 * It does not matter how the words got the same values, by the same calls or by others: a walk
 * would read the same words and reach the same frames. So exceptions, longjmp, signals and
 * coroutines that are copied in and out of one stack (greenlets) need no special care. A stack with
 * a frame that has no rule, or another kind of rule, is walked again each time. If the kernel made
 * that frame, libunwind unwinds the whole stack.
 *
 * The walk reads only words at or above the current stack pointer and below the top of the thread's
 * own stack. All of this memory is mapped (unwind/stack_bounds.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "depot/hash.h"
#include "unwind/unwind_rule.h"
#include "unwind/walk.h"

/*
 * A flag in gmt_walk_frame::slot: the rule of this frame counts from its frame pointer. The other
 * bits are the slot.
 */
#define GMT_WALK_BY_FP ((uint32_t)1 << 31)

/*
 * Reads a word of plain memory of this process, whatever object the compiler sees there. Sanitizers
 * do not check it.
 */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t gmt_walk_word(
	uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/*
 * A slot counts words from the origin of the stack. The origin lies this far below the stack's
 * top, further than any stack reaches. So a slot fits into half a word and is never 0.
 */
enum { GMT_WALK_ORIGIN_WORDS = 1 << 30 };

static inline uint64_t gmt_walk_origin(const struct gmt_walk *walk)
{
	return walk->stack_bounds.top - (uint64_t)GMT_WALK_ORIGIN_WORDS * GMT_UNWIND_WORD_BYTES;
}

static inline uint32_t gmt_walk_slot(uint64_t origin, uint64_t address)
{
	return (uint32_t)((address - origin) / GMT_UNWIND_WORD_BYTES);
}

static inline uint64_t gmt_walk_slot_address(uint64_t origin, uint32_t slot)
{
	return origin + (uint64_t)slot * GMT_UNWIND_WORD_BYTES;
}

/*
 * Reads a word like gmt_walk_word, for values that are only compared. The compiler may read the
 * word several times, and needs one instruction less.
 */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t
gmt_walk_word_to_compare(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* Returns 0 if the word below `slot` holds the return address `address`. */
static inline uint64_t gmt_walk_return_differs(uint64_t origin, uint32_t slot, uint64_t address)
{
	return gmt_walk_code(gmt_walk_word_to_compare(gmt_walk_slot_address(origin, slot) -
			   GMT_UNWIND_WORD_BYTES)) ^
		address;
}

/* Returns whether the word below `slot` holds the return address `address`. */
static inline bool gmt_walk_is_return(uint64_t origin, uint32_t slot, uint64_t address)
{
	return !gmt_walk_return_differs(origin, slot, address);
}

static inline bool gmt_walk_is_word(uint64_t origin, uint32_t slot, uint64_t value)
{
	return gmt_walk_word_to_compare(gmt_walk_slot_address(origin, slot)) == value;
}

static inline bool gmt_walk_words_match(const uint32_t *slots, const uint64_t *values, size_t count,
	uint64_t origin)
{
	for (size_t i = 0; i < count; i++)
		if (!gmt_walk_is_word(origin, slots[i], values[i]))
			return false;
	return true;
}

/* The number of words that are compared in one round of a loop. */
enum { GMT_WALK_AT_ONCE = 4 };

/*
 * Returns the innermost of rows [begin, end) from which outwards the stack holds the return
 * addresses in `addresses`. Returns `end` if not even the outermost row matches. All slots of
 * these rows must be above the slot of the stack pointer.
 */
static inline uint32_t gmt_walk_matches_from(const uint32_t *slots, const uint64_t *addresses,
	uint32_t begin, uint32_t end, uint64_t origin)
{
	size_t at = end, enough = (size_t)begin + GMT_WALK_AT_ONCE;

	/* Most of the work of a walk: two loads and a comparison for each frame. */
	for (; at >= enough; at -= GMT_WALK_AT_ONCE) {
		if (!gmt_walk_is_return(origin, slots[at - 1], addresses[at - 1]))
			return (uint32_t)at;
		if (!gmt_walk_is_return(origin, slots[at - 2], addresses[at - 2]))
			return (uint32_t)at - 1;
		if (!gmt_walk_is_return(origin, slots[at - 3], addresses[at - 3]))
			return (uint32_t)at - 2;
		if (!gmt_walk_is_return(origin, slots[at - 4], addresses[at - 4]))
			return (uint32_t)at - 3;
	}
	while (at > begin && gmt_walk_is_return(origin, slots[at - 1], addresses[at - 1]))
		at--;
	return (uint32_t)at;
}

/*
 * Returns how many of the `count` words at `slots` equal `values`, up to the first word that
 * differs.
 */
static inline uint32_t gmt_walk_count_matching(const uint32_t *slots, const uint64_t *values,
	uint32_t count, uint64_t origin)
{
	size_t at = 0;

	for (; at + GMT_WALK_AT_ONCE <= count; at += GMT_WALK_AT_ONCE) {
		if (!gmt_walk_is_word(origin, slots[at], values[at]))
			return (uint32_t)at;
		if (!gmt_walk_is_word(origin, slots[at + 1], values[at + 1]))
			return (uint32_t)at + 1;
		if (!gmt_walk_is_word(origin, slots[at + 2], values[at + 2]))
			return (uint32_t)at + 2;
		if (!gmt_walk_is_word(origin, slots[at + 3], values[at + 3]))
			return (uint32_t)at + 3;
	}
	while (at < count && gmt_walk_is_word(origin, slots[at], values[at]))
		at++;
	return (uint32_t)at;
}

/*
 * Packs an entry of gmt_walk::fp_marks: whether a frame's frame pointer matters, and how many
 * entries of gmt_walk::fp_slots belong to the frames outwards of it. If the frame's own frame
 * pointer was read, this number is also its index.
 */
static inline uint16_t gmt_walk_fp_mark(uint32_t words, bool matters)
{
	return (uint16_t)(words << 1 | matters);
}

/* Returns whether the frame pointer matters. */
static inline bool gmt_walk_fp_matters(uint16_t mark)
{
	return mark & 1;
}

/* Returns the number of entries of the frames outwards. */
static inline uint32_t gmt_walk_fp_words(uint16_t mark)
{
	return mark >> 1;
}

/*
 * Returns the frame pointer of frame `at`, which must matter. If it was not read from the stack, it
 * is that of the next inner frame, which then matters too. This continues inwards to a frame
 * pointer that was read, or to that of the innermost frame.
 */
static inline uint64_t gmt_walk_fp_of(const struct gmt_walk *walk, uint32_t at)
{
	uint32_t word = gmt_walk_fp_words(walk->fp_marks[at]);

	return word < gmt_walk_fp_words(walk->fp_marks[walk->begin]) ? walk->fp_values[word] : walk->fp;
}

/* Returns the hash of a stack that consists of `address` and then a stack of hash `outer`. */
static inline uint64_t gmt_walk_hash_add(uint64_t outer, uint64_t address)
{
	return gmt_hash_mix(outer ^ 0x9e3779b97f4a7c15, address ^ 0xe7037ed1a0b428db);
}

#endif
