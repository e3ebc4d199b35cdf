/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_STACK_CACHE_H
#define GMT_UNWIND_STACK_CACHE_H

/*
 * A thread's stack cache: the inner parts of its earlier stacks. Each part also lists the parts
 * that followed it recently. In the flow: walk -> stack cache.
 *
 * A program repeats its work. For example, a training step allocates memory with the same stacks as
 * the previous step, in the same order, at the same addresses. So a part that earlier followed the
 * last part is a good guess for the next stack. The walk compares the guess with the stack, word by
 * word, as it compares remembered frames (walk_slots.h explains why this is exact). If all words
 * are equal, the walk unwinds no frame. It also needs no look-up in the depot, because the part has
 * the stack's id.
 *
 * If no guess is right, the walk unwinds the stack. Only one thread uses a stack cache at a time.
 * The cache drops all parts when it is full and when the rules have changed.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_walk;
struct gmt_walk_start;

enum {
	GMT_STACK_CACHE_WORDS = 1 << 16,
	GMT_STACK_CACHE_HASH_BITS = 11,
	GMT_STACK_CACHE_FRAMES = 512, /* larger parts are not stored */
	GMT_STACK_CACHE_GUESSES = 3,
};

/* An empty stack cache is all zero. */
struct gmt_stack_cache {
	uint32_t used;    /* words in use */
	/* Parts, as the index of their first word, from 1 on; 0: no part. */
	uint32_t last;    /* the part of the previous stack */
	uint32_t current; /* the part of the stack that is being taken */
	/* The last part whose stack has this hash. */
	uint32_t parts_by_hash[1 << GMT_STACK_CACHE_HASH_BITS];
	uint64_t words[GMT_STACK_CACHE_WORDS];
};

/* Drops all parts. */
void gmt_stack_cache_clear(struct gmt_stack_cache *stack_cache);

/* Returns the guess of number `rank`, from 0 on; 0 if the cache has no such guess. */
uint32_t gmt_stack_cache_guess(struct gmt_stack_cache *stack_cache, unsigned rank);

/*
 * Tries to take the stack from `start` outwards as a guessed part followed by remembered frames.
 * The caller has verified the remembered frames from `from` outwards. On success the walk holds
 * this stack, and gmt_walk::is_known says whether its id is known. Returns false if no guess is
 * right; then the walk has not changed.
 */
bool gmt_stack_cache_try(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t from,
	uint32_t limit);

/*
 * Stores the `count` frames that the walk has put before frame `at` as a part, unless the cache has
 * an equal part. Later the part is a guess.
 */
void gmt_stack_cache_keep(struct gmt_walk *walk, uint32_t at, uint32_t count);

/* Stores gmt_walk::id as the id of the current part. */
void gmt_stack_cache_set_id(struct gmt_walk *walk);

#endif
