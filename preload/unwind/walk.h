/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_WALK_H
#define GMT_UNWIND_WALK_H

/*
 * Walks the calling thread's native stack by rules (unwind/rules.h), and remembers it: the next walk goes only as far
 * as the frames are new, and takes the rest from memory once it has been verified. In the flow: native -> walk ->
 * trail -> rules, and walk -> recall. Or by frame pointers, where all code is said to keep them; no table is asked then.
 *
 * Nothing is ever written to the stack, and only what is surely the thread's own stack is read (unwind/own_stack.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/both_ends.h"
#include "unwind/own_stack.h"
#include "unwind/stack_cache.h"
#include "unwind/rule_cache.h"
#include "format/format.h"

enum {
	GMT_WALK_FRAMES = 2048,     /* room for what is remembered, so that it rarely has to be moved */
	GMT_WALK_NEW_FRAMES = 1024, /* of one stack, the most that is remembered */
};

#define GMT_WALK_NO_GENERATION UINT32_MAX

/*
 * A frame that a walk has come to: where it goes on (a return address, which lies in the word below the stack
 * pointer), with which stack and frame pointer. Places are those of walk.c.
 */
struct gmt_walk_frame {
	uint64_t ip, fp;
	uint32_t place;       /* of the stack pointer, with a mark of walk_places.h */
	uint32_t saved_words; /* the next outer frame's fp was read that far below that one's place; 0: it is this one's */
};

/*
 * A thread's memory of its last stack. One thread uses it at a time. Frames [begin, GMT_WALK_FRAMES) are that stack, innermost
 * first. What is looked at each time lies close together, on few pages (producer/memory.h): the ends of arrays that are filled from
 * behind, and the beginnings of what comes next.
 */
struct gmt_walk {
	struct gmt_rule_cache trail;
	struct gmt_walk_frame fresh[GMT_WALK_NEW_FRAMES + 1];
	uint64_t hashes[GMT_WALK_FRAMES + 1]; /* of the addresses from that frame outwards */
	uint64_t addresses[GMT_WALK_FRAMES];
	/* Frame pointers that matter, the outermost frame's first, and where they were read; one that was not is not among them. */
	uint64_t fp_values[GMT_WALK_FRAMES];
	uint16_t fp_marks[GMT_WALK_FRAMES]; /* walk_places.h */
	uint32_t fp_places[GMT_WALK_FRAMES];
	uint32_t places[GMT_WALK_FRAMES + 1]; /* of their stack pointers; the last is beyond all */
	struct gmt_own_stack own_stack;
	uint32_t begin;
	uint32_t first;       /* the innermost that is not our own */
	uint32_t generation;  /* of the rules that they were found by */
	uint8_t ends;         /* enum gmt_stack_end; GMT_STACK_CUT: beyond GMT_WALK_NEW_FRAMES */
	bool is_unsure;       /* what it was found by may be another thing next time: to be forgotten */
	bool is_blind;        /* it has come to code that no table tells of */
	bool is_known;        /* it was taken before: id and module_generation are those of then */
	uint32_t id;          /* the caller's: what the stack that was taken last is called, 0: nothing */
	uint32_t module_generation; /* likewise, what that is about */
	uint32_t taken;       /* likewise, how many until the next is compared */
	uint32_t same_for;    /* likewise, module_generation where what gmt_walk_is_same is called id; else GMT_WALK_NO_GENERATION */
	uint64_t fp, outermost_fp; /* frame pointers of both ends */
	struct gmt_stack_cache recall;
};

/* How many frames are known that are not our own. */
static inline uint32_t gmt_walk_count(const struct gmt_walk *walk)
{
	return GMT_WALK_FRAMES - walk->first;
}

/*
 * Memory for the caller until the next walk, so that it does not lie on the host's stack: room for a stack of GMT_DEPTH_MAX
 * addresses and its head.
 */
static inline void *gmt_walk_scratch(struct gmt_walk *walk)
{
	return walk->fresh;
}

/* Empty, for a thread of which nothing is known. */
void gmt_walk_init(struct gmt_walk *walk);

/* Where a walk begins; our own code, which is left out; and by what to walk. */
struct gmt_walk_start {
	uint64_t ip, sp, fp;
	uint64_t own_start, own_end;
	bool by_frame_pointers; /* and not by rules: the same in all walks of a process */
};

/* Where code returns to, without the signature that AArch64 may put into it. */
static inline uint64_t gmt_walk_code(uint64_t word)
{
#ifdef __aarch64__
	register uint64_t link __asm__("x30") = word;

	/* xpaclri, which older processors take for nothing. */
	__asm__("hint #7" : "+r"(link));
	return link;
#else
	return word;
#endif
}

/*
 * Takes the stack from `start` outwards: afterwards frames from `first` on are those that are not ours, at least one.
 * False when it cannot be walked so for `limit` frames, or to its end; nothing is remembered then.
 *
 * Code that no table tells of is walked over by its frame pointer, where that leads on to code that a table does tell
 * of; else the stack ends with it (GMT_STACK_STOPPED). Such a frame pointer may be that of a caller further out, if
 * the code has none of its own: frames in between are missing then.
 */
bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit);

/*
 * Of a stack that was cut (gmt_walk::ends), the outermost `count` frames beyond those that are known: fills
 * `ret_addresses`, innermost first. False when there are fewer, or the end is not found among the next
 * GMT_BOTH_ENDS_FARTHEST.
 */
bool gmt_walk_outermost(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint64_t *ret_addresses);

/*
 * The hash of a stack of `count` addresses, innermost first, that goes on with one of hash `outer` (0: ends); as in
 * gmt_walk::hashes.
 */
uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count, uint64_t outer);

#endif
