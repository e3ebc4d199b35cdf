/* SPDX-License-Identifier: MIT */
#include "unwind/rule_cache.h"

void gmt_rule_cache_clear(struct gmt_rule_cache *rule_cache)
{
	/*
	 * The entries of `starts` can stay: a node itself says which address it holds. The loop stops
	 * at the first empty node, because memory that was never written should stay unused.
	 */
	rule_cache->nodes[0] = 0;
	for (uint32_t at = 1; rule_cache->nodes[at]; at++)
		rule_cache->nodes[at] = 0;
	rule_cache->used = 0;
}

struct gmt_unwind_rule gmt_rule_cache_add(struct gmt_rule_cache *rule_cache, uint32_t *ret_at,
	uint64_t ip, uint16_t *ret_start)
{
	struct gmt_unwind_rule rule = gmt_rules_find(ip);
	bool is_end = rule.kind == GMT_UNWIND_END, by_fp = rule.kind == GMT_UNWIND_BY_FP;

	if (!is_end &&
		(rule.kind > GMT_UNWIND_BY_FP || rule.cfa_words >> GMT_RULE_CACHE_CFA_BITS ||
			rule.saved_words >> GMT_RULE_CACHE_SAVED_BITS))
		return rule;
	rule_cache->used = rule_cache->used == GMT_RULE_CACHE_NODES - 1 ? 1 : rule_cache->used + 1;
	rule_cache->nodes[rule_cache->used] = ip |
		(is_end ? 0
				: (uint64_t)rule.cfa_words << GMT_RULE_CACHE_CFA_SHIFT |
					(uint64_t)rule.saved_words << GMT_RULE_CACHE_SAVED_SHIFT |
					(uint64_t)by_fp << GMT_RULE_CACHE_BY_FP_SHIFT);
	*ret_at = rule_cache->used;
	*ret_start = (uint16_t)rule_cache->used;
	return rule;
}
