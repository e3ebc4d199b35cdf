/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_RULE_CACHE_H
#define GMT_UNWIND_RULE_CACHE_H

/*
 * A thread's rule cache: its own copies of rules (unwind/rules.h), in the order in which its walks
 * met them. In the flow: walk -> rule cache -> rules.
 *
 * In the table that all threads share, each rule has its own cache line, and mostly its own page.
 * Only the rule of one frame says where the next frame is. So if the processor's caches are cold, a
 * walk waits for each rule in turn.
 *
 * In the rule cache, one word holds a return address and its rule. The next word holds those of the
 * frame that a walk met next. So one cache line holds eight frames. The processor predicts that a
 * stack continues like the stack before, and fetches the following words in the meantime.
 *
 * The order is only a guess. Each word is correct by itself for as long as the rules are valid
 * (gmt_rule_cache_clear). Only one thread uses a rule cache at a time. x86-64 only, like the rules.
 */

#include <stdint.h>

#include "unwind/rules.h"

enum {
	/*
	 * Half a page less than whole pages: a good alignment for what follows
	 * (producer/thread_stack_caches.h)
	 */
	GMT_RULE_CACHE_NODES = 3840,
	GMT_RULE_CACHE_START_BITS = 11,

	/*
	 * The fields of a node, from the lowest bit:
	 *
	 * - the return address,
	 * - the words to the CFA (0: the outermost frame),
	 * - the words to the saved frame pointer,
	 * - whether the CFA counts from the frame pointer.
	 */
	GMT_RULE_CACHE_CFA_BITS = 11,
	GMT_RULE_CACHE_SAVED_BITS = 5,
	GMT_RULE_CACHE_CFA_SHIFT = GMT_RULES_ADDRESS_BITS,
	GMT_RULE_CACHE_SAVED_SHIFT = GMT_RULE_CACHE_CFA_SHIFT + GMT_RULE_CACHE_CFA_BITS,
	GMT_RULE_CACHE_BY_FP_SHIFT = GMT_RULE_CACHE_SAVED_SHIFT + GMT_RULE_CACHE_SAVED_BITS,
};

_Static_assert((int)GMT_RULE_CACHE_BY_FP_SHIFT == 63, "a node is one word");

/* An empty rule cache is all zero. */
struct gmt_rule_cache {
	/* Nodes in use, from 1 on (node 0 is never used); restarts at 1 when all are in use. */
	uint32_t used;
	/* By hash of the address: a node that may hold it, if the guess failed. */
	uint16_t starts[1 << GMT_RULE_CACHE_START_BITS];
	uint64_t nodes[GMT_RULE_CACHE_NODES + 1];         /* the last node stays empty */
};

/* Clears the rule cache. Call it when the rules have changed. */
void gmt_rule_cache_clear(struct gmt_rule_cache *rule_cache);

/* Returns the rule that is packed into a node. */
static inline struct gmt_unwind_rule gmt_rule_cache_unpack(uint64_t node)
{
	uint32_t cfa_words =
		(uint32_t)(node >> GMT_RULE_CACHE_CFA_SHIFT) & ((1 << GMT_RULE_CACHE_CFA_BITS) - 1);

	return (struct gmt_unwind_rule){
		.kind = !cfa_words                       ? GMT_UNWIND_END
			: node >> GMT_RULE_CACHE_BY_FP_SHIFT ? GMT_UNWIND_BY_FP
												 : GMT_UNWIND_BY_SP,
		.saved_words = node >> GMT_RULE_CACHE_SAVED_SHIFT & ((1 << GMT_RULE_CACHE_SAVED_BITS) - 1),
		.cfa_words = cfa_words,
	};
}

/*
 * Used by gmt_rule_cache_find: looks up the rule of `ip` in the shared table. If the rule fits into
 * a node, it adds the node after the last node and stores the node's number in *ret_at and
 * *ret_start.
 */
struct gmt_unwind_rule gmt_rule_cache_add(struct gmt_rule_cache *rule_cache, uint32_t *ret_at,
	uint64_t ip, uint16_t *ret_start);

/*
 * Returns the rule of `ip` like gmt_rules_find. `ip` is not 0. *at is the node that was found last;
 * its successor is tried first. At the start of a walk *at is 0, because most walks begin in the
 * recorder's code, like the first one.
 */
static inline struct gmt_unwind_rule gmt_rule_cache_find(struct gmt_rule_cache *rule_cache,
	uint32_t *at, uint64_t ip)
{
	const uint64_t address = ((uint64_t)1 << GMT_RULES_ADDRESS_BITS) - 1;
	uint64_t node = rule_cache->nodes[*at + 1];

	/* A branch, not a conditional move: the processor would have to wait for a conditional move. */
	if (__builtin_expect((node & address) == ip, 1)) {
		++*at;
		return gmt_rule_cache_unpack(node);
	}

	uint16_t *start =
		&rule_cache
			 ->starts[gmt_rules_mix(ip) >> (GMT_RULES_ADDRESS_BITS - GMT_RULE_CACHE_START_BITS)];

	node = rule_cache->nodes[*start];
	if ((node & address) != ip)
		return gmt_rule_cache_add(rule_cache, at, ip, start);
	*at = *start;
	return gmt_rule_cache_unpack(node);
}

#endif
