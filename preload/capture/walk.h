/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_WALK_H
#define GMT_CAPTURE_WALK_H

/*
 * Walks the calling thread's native stack by rules (capture/rules.h), and remembers it: the next walk goes only as far
 * as the frames are new, and takes the rest from memory once it has been verified. In the flow: native -> walk -> rules.
 *
 * Nothing is ever written to the stack, and only what is surely the thread's own stack is read (capture/own_stack.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "capture/own_stack.h"

enum {
	GMT_WALK_FRAMES = 1152, /* room for a stack of GMT_DEPTH_MAX, twice and a bit, so that it rarely has to be moved */
	GMT_WALK_NEW_FRAMES = 544, /* the most of one stack */
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
	bool is_whole;        /* the last one is the thread's outermost; else there are more */
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

/* Where a walk begins, and our own code, which is left out. */
struct gmt_walk_start {
	uint64_t ip, sp, fp;
	uint64_t own_start, own_end;
};

/*
 * Takes the stack from `start` outwards: afterwards frames [first, end) are the first `limit` (at most GMT_DEPTH_MAX)
 * frames that are not ours. False when this stack cannot be walked by rules alone; nothing is remembered then.
 */
bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit);

/* The hash of a stack of `count` addresses, innermost first; as in gmt_walk::hashes. */
uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count);

#endif
