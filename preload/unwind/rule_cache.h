/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_RULE_CACHE_H
#define GMT_UNWIND_RULE_CACHE_H

/*
 * A thread's own copies of rules (unwind/rules.h), in the order in which its walks met them. In the flow: walk ->
 * trail -> rules.
 *
 * The table that all threads share has each rule in a cache line, and mostly in a page, of its own: where caches are
 * cold, a walk waits for each of them, one after the other, as only the rule of one frame says where the next one is.
 * Here a word is a return address and its rule, and the next word is that of the frame which a walk met next. So eight
 * frames are a line, and the processor, which guesses that a stack goes on as the one before did, fetches what lies
 * ahead meanwhile.
 *
 * The order is only a guess: each word is right by itself, for as long as the rules are (gmt_rule_cache_clear). One thread
 * uses a trail at a time. x86-64 only, as the rules.
 */

#include <stdint.h>

#include "unwind/rules.h"

enum {
	GMT_RULE_CACHE_NODES = 3840, /* half a page less than some pages, for what lies behind (producer/memory.h) */
	GMT_RULE_CACHE_START_BITS = 11,

	/*
	 * A node: from the lowest bit on the address, words to the CFA (0: the outermost frame), words to the saved
	 * frame pointer, and whether the CFA is told by the frame pointer.
	 */
	GMT_RULE_CACHE_CFA_BITS = 11,
	GMT_RULE_CACHE_SAVED_BITS = 5,
	GMT_RULE_CACHE_CFA_SHIFT = GMT_RULES_ADDRESS_BITS,
	GMT_RULE_CACHE_SAVED_SHIFT = GMT_RULE_CACHE_CFA_SHIFT + GMT_RULE_CACHE_CFA_BITS,
	GMT_RULE_CACHE_BY_FP_SHIFT = GMT_RULE_CACHE_SAVED_SHIFT + GMT_RULE_CACHE_SAVED_BITS,
};

_Static_assert((int)GMT_RULE_CACHE_BY_FP_SHIFT == 63, "a node is one word");

/* All zero: empty. */
struct gmt_rule_cache {
	uint32_t used;                               /* nodes, from 1 on: node 0 is none; begins anew when all are */
	uint16_t starts[1 << GMT_RULE_CACHE_START_BITS]; /* by address: where one may be that was not guessed */
	uint64_t nodes[GMT_RULE_CACHE_NODES + 1];         /* the last is none */
};

/* The rules are no longer what they were. */
void gmt_rule_cache_clear(struct gmt_rule_cache *trail);

static inline struct gmt_unwind_rule gmt_rule_cache_unpack(uint64_t node)
{
	uint32_t cfa_words = (uint32_t)(node >> GMT_RULE_CACHE_CFA_SHIFT) & ((1 << GMT_RULE_CACHE_CFA_BITS) - 1);

	return (struct gmt_unwind_rule){
		.kind = !cfa_words ? GMT_UNWIND_END : node >> GMT_RULE_CACHE_BY_FP_SHIFT ? GMT_UNWIND_BY_FP : GMT_UNWIND_BY_SP,
		.saved_words = node >> GMT_RULE_CACHE_SAVED_SHIFT & ((1 << GMT_RULE_CACHE_SAVED_BITS) - 1),
		.cfa_words = cfa_words,
	};
}

/*
 * For gmt_rule_cache_find: asks the rules, and puts the answer behind what the trail has, where it is one that fits into a node; its
 * number is then in *ret_at and *ret_start.
 */
struct gmt_unwind_rule gmt_rule_cache_add(struct gmt_rule_cache *trail, uint32_t *ret_at, uint64_t ip, uint16_t *ret_start);

/*
 * As gmt_rules_find; `ip` is not 0. `at` is the node that was found last, of which the next one is tried first; 0
 * where a walk begins, in our own code mostly, as the first one did.
 */
static inline struct gmt_unwind_rule gmt_rule_cache_find(struct gmt_rule_cache *trail, uint32_t *at, uint64_t ip)
{
	const uint64_t address = ((uint64_t)1 << GMT_RULES_ADDRESS_BITS) - 1;
	uint64_t node = trail->nodes[*at + 1];

	/* Not by a choice that the processor would have to wait for. */
	if (__builtin_expect((node & address) == ip, 1)) {
		++*at;
		return gmt_rule_cache_unpack(node);
	}

	uint16_t *start = &trail->starts[gmt_rules_mix(ip) >> (GMT_RULES_ADDRESS_BITS - GMT_RULE_CACHE_START_BITS)];

	node = trail->nodes[*start];
	if ((node & address) != ip)
		return gmt_rule_cache_add(trail, at, ip, start);
	*at = *start;
	return gmt_rule_cache_unpack(node);
}

#endif
