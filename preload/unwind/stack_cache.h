/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_STACK_CACHE_H
#define GMT_UNWIND_STACK_CACHE_H

/*
 * The inner parts of stacks that a thread has had, each with those that followed it lately. In the flow: walk -> recall.
 *
 * A program does the same again and again: a training step allocates with the stacks of the step before, in the same
 * order, at the same places. So what followed a part before is a guess for this time. It is compared with what is on the
 * stack, word by word, as remembered frames are (why that is exact: walk.c); where it holds, there is nothing to walk, or
 * to look up in the depot, for what the stack is called is known too.
 *
 * What does not hold is walked. One thread uses it at a time. It forgets all when it is full, or rules are no longer
 * what they were.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_walk;
struct gmt_walk_start;

enum {
	GMT_STACK_CACHE_WORDS = 1 << 16,
	GMT_STACK_CACHE_START_BITS = 11,
	GMT_STACK_CACHE_FRAMES = 512, /* parts of more are not kept */
	GMT_STACK_CACHE_GUESSES = 3,
};

/* All zero: empty. */
struct gmt_stack_cache {
	uint32_t used;    /* words; 0 is none, parts begin at 1 */
	uint32_t last;    /* the part that the stack before had; 0: none */
	uint32_t current; /* likewise, of the stack that is taken now */
	uint32_t starts[1 << GMT_STACK_CACHE_START_BITS]; /* by a hash of the stack: where a part with it may be */
	uint64_t words[GMT_STACK_CACHE_WORDS];
};

void gmt_stack_cache_clear(struct gmt_stack_cache *recall);

/* The part that is guessed first, or as number `rank`, from 0 on; 0: none. */
uint32_t gmt_stack_cache_guess(struct gmt_stack_cache *recall, unsigned rank);

/*
 * Whether the stack from `start` outwards is a guessed part and then remembered frames, of which those outwards from
 * `from` have been verified. Then it is what the walk has taken, and gmt_walk::is_known is set. False: nothing is
 * changed.
 */
bool gmt_stack_cache_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from, uint32_t limit);

/* The walk has put `count` frames before frame `at`: keeps them, or finds them, for the next guess. */
void gmt_stack_cache_keep(struct gmt_walk *walk, uint32_t at, uint32_t count);

/* What is on the stack has got gmt_walk::id. */
void gmt_stack_cache_name(struct gmt_walk *walk);

#endif
