/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_WALK_H
#define GMT_CAPTURE_WALK_H

/*
 * Walks the calling thread's native stack by rules (capture/rules.h), and remembers it: the next walk goes only as far
 * as the frames are new, and takes the rest from memory once it has been verified. In the flow: native -> walk -> rules.
 * Or by frame pointers, where all code is said to keep them; no table is asked then.
 *
 * Nothing is ever written to the stack, and only what is surely the thread's own stack is read (capture/own_stack.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/own_stack.h"
#include "wire/format.h"

enum {
	GMT_WALK_FRAMES = 1152, /* room for a stack of GMT_DEPTH_MAX, twice and a bit, so that it rarely has to be moved */
	GMT_WALK_NEW_FRAMES = 544, /* the most of one stack */
	GMT_WALK_FARTHEST = 32768, /* frames beyond them: bounds what a stack costs */
};

/*
 * One frame: where it goes on (a return address), with which stack and frame pointer, and where that frame pointer was
 * read; the stack pointer tells where the return address was. Where the register still held it, `fp_slot` is the place of
 * the return address and `fp_value` that, so that all frames are verified alike.
 */
struct gmt_walk_frame {
	uint64_t ip, sp, fp;
	uint64_t fp_slot, fp_value;
};

/* A thread's memory. One thread uses it at a time. */
struct gmt_walk {
	struct gmt_own_stack own_stack;
	uint32_t begin, end;  /* of `frames`, innermost first; equal: nothing is remembered */
	uint32_t first;       /* the innermost that is not our own */
	uint32_t generation;  /* of the rules that they were found by */
	uint8_t ends;         /* enum gmt_stack_end */
	bool is_unsure;       /* what it was found by may be another thing next time: to be forgotten */
	bool is_blind;        /* it has come to code that no table tells of */
	bool is_same;         /* as the stack that was taken before */
	uint32_t id;          /* the caller's: what the stack that was taken before is called, 0: nothing */
	uint32_t module_generation; /* likewise, what that is about */
	uint32_t taken;       /* likewise, how many until the next is compared */
	uint64_t hashes[GMT_WALK_FRAMES + 1]; /* of the addresses from that frame outwards; of frames from `first` on */
	uint64_t addresses[GMT_WALK_FRAMES];  /* of the frames, in one piece; from `first` on, the word before is free */
	struct gmt_walk_frame frames[GMT_WALK_FRAMES];
	struct gmt_walk_frame fresh[GMT_WALK_NEW_FRAMES];
};

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
 * Takes the stack from `start` outwards: afterwards frames [first, end) are the first `limit` (at most GMT_DEPTH_MAX)
 * frames that are not ours. False when this stack cannot be walked so; nothing is remembered then.
 *
 * Code that no table tells of is walked over by its frame pointer, where that leads on to code that a table does tell of;
 * else the stack ends with it (GMT_STACK_STOPPED). Such a frame pointer may be that of a caller further out, if
 * the code has none of its own: frames in between are missing then.
 */
bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit);

/*
 * Of a stack that was cut (gmt_walk::ends), the outermost `count` frames beyond those that were taken: fills `ret_addresses`, innermost
 * first. False when there are fewer, or the end is not found among the next GMT_WALK_FARTHEST.
 */
bool gmt_walk_outermost(const struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint64_t *ret_addresses);

/* The hash of a stack of `count` addresses, innermost first; as in gmt_walk::hashes. */
uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count);

#endif
