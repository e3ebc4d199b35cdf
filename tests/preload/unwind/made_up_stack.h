/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_PRELOAD_MADE_UP_STACK_H
#define GMT_TESTS_PRELOAD_MADE_UP_STACK_H

/*
 * Builds stacks word by word for a walk to take. Each return address encodes its own unwind rule.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "unwind/memory_is_readable.h"
#include "unwind/rule_cache.h"
#include "unwind/walk.h"
#include "unwind/walk_unchanged.h"

enum {
	WORDS = 4096,
	DEEPEST = 1200,
	SESSIONS = 300,
	ROUNDS = 300,
	FRAME_WORDS = 12,
	SITES = 3,
	IP_SHIFT = 32,
	KIND_SHIFT = 43,
};

/* Only the recorder's own code lies in the upper half. */
static const uint64_t recorder_start = (uint64_t)1 << 46, recorder_end = (uint64_t)1 << 47;

static _Alignas(4096) uint64_t memory[WORDS];
static uint64_t *other_memory; /* another stack, far away */
static _Atomic uint64_t no_rules[1 << GMT_RULES_SET_BITS][GMT_RULES_WAYS];
_Atomic uint64_t (*gmt_rule_cache_sets)[GMT_RULES_WAYS] = no_rules;
struct gmt_rule_cache gmt_rule_cache = { .generation = 1 };

/* The frames of the stack, outermost first. */
static struct frame {
	uint64_t ip, sp, fp;
} frames[DEEPEST];
static uint32_t depth;
static struct gmt_walk walk;

bool gmt_memory_is_readable(uintptr_t address)
{
	return address >= (uintptr_t)other_memory && address < (uintptr_t)(other_memory + WORDS);
}

bool gmt_stack_bounds_grow(struct gmt_stack_bounds *stack, uintptr_t here)
{
	(void)stack;
	(void)here;
	return false;
}

/*
 * kind, saved_words and cfa_words stand above the site. The bit above them marks the recorder's own
 * code.
 */
static inline uint64_t make_ip(struct gmt_unwind_rule rule, uint64_t site)
{
	return (uint64_t)rule.kind << KIND_SHIFT | (uint64_t)rule.saved_words << 39 |
		(uint64_t)rule.cfa_words << IP_SHIFT | site;
}

struct gmt_unwind_rule gmt_rule_cache_read_tables(uint64_t ip)
{
	return (struct gmt_unwind_rule){
		.kind = ip >> KIND_SHIFT & 7,
		.saved_words = ip >> 39 & 15,
		.cfa_words = (uint16_t)(ip >> IP_SHIFT & 127),
	};
}

static inline uint32_t any(uint32_t count)
{
	return (uint32_t)rand() % count;
}

static inline uint64_t *word(uint64_t address)
{
	return &memory[(address - (uint64_t)memory) / 8];
}

static inline uint64_t any_site(void)
{
	return 0x400000 + 8 * any(SITES) + (any(8) ? 0 : recorder_start);
}

static inline void begin_stack(void)
{
	for (int i = 0; i < WORDS; i++)
		memory[i] = any(4) ? (uint64_t)rand() : (uint64_t)&memory[any(WORDS)];
	frames[0] = (struct frame){
		.ip = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_END }, 0x400000),
		.sp = (uint64_t)&memory[WORDS - 4],
		.fp = any(2) ? 0 : (uint64_t)rand(),
	};
	depth = 1;
}

/* Calls a function. Words that the new frame does not write keep their old values. */
static inline void push(int odd)
{
	const struct frame *outer = &frames[depth - 1];
	uint32_t size = 3 + any(FRAME_WORDS), by_fp = any(2),
			 saved = by_fp ? 2
		: any(2)           ? 2 + any(size - 2)
						   : 0;
	struct gmt_unwind_rule rule = {
		.kind = odd ? GMT_UNWIND_OTHER
			: by_fp ? GMT_UNWIND_BY_FP
					: GMT_UNWIND_BY_SP,
		.saved_words = (uint8_t)saved,
		.cfa_words = (uint16_t)(by_fp ? 2 : size),
	};
	struct frame *inner = &frames[depth];

	if (depth == DEEPEST - 1 || outer->sp - size * 8 < (uint64_t)&memory[FRAME_WORDS])
		return;
	inner->sp = outer->sp - size * 8;
	*word(outer->sp - 8) = outer->ip;
	if (saved)
		*word(outer->sp - saved * 8) = outer->fp;
	inner->fp = by_fp ? outer->sp - 16 : saved && any(2) ? (uint64_t)rand() : outer->fp;
	inner->ip = make_ip(rule, any_site());
	depth++;
}

/* Calls functions with frames of the smallest size until the stack has `until` frames. */
static inline void push_many(uint32_t until)
{
	const struct gmt_unwind_rule rule = { .kind = GMT_UNWIND_BY_SP, .cfa_words = 2 };

	while (depth < until) {
		frames[depth] = (struct frame){ make_ip(rule, 0x400000 + 8 * any(SITES)),
			frames[depth - 1].sp - 16, frames[depth - 1].fp };
		*word(frames[depth - 1].sp - 8) = frames[depth - 1].ip;
		depth++;
	}
}

static inline struct gmt_walk_start start_here(void)
{
	const struct frame *inner = &frames[depth - 1];

	return (struct gmt_walk_start){
		.ip = inner->ip,
		.sp = inner->sp,
		.fp = inner->fp,
		.recorder_start = recorder_start,
		.recorder_end = recorder_end,
	};
}

static inline void begin_session(unsigned seed)
{
	srand(seed);
	begin_stack();
	memset(&walk, 0, sizeof(walk));
	gmt_walk_init(&walk);
	walk.stack_bounds =
		(struct gmt_stack_bounds){ .low = (uintptr_t)memory, .top = (uintptr_t)(memory + WORDS) };
}

#endif
