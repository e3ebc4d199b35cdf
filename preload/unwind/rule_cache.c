/* SPDX-License-Identifier: MIT */
#include "unwind/rule_cache.h"

void gmt_rule_cache_clear(struct gmt_rule_cache *trail)
{
	/*
	 * The entries of `starts` can stay: a node itself says which address it holds. The loop stops
	 * at the first empty node, because memory that was never written should stay unused.
	 */
	trail->nodes[0] = 0;
	for (uint32_t at = 1; trail->nodes[at]; at++)
		trail->nodes[at] = 0;
	trail->used = 0;
}

struct gmt_unwind_rule gmt_rule_cache_add(struct gmt_rule_cache *trail, uint32_t *ret_at,
	uint64_t ip, uint16_t *ret_start)
{
	struct gmt_unwind_rule rule = gmt_rules_find(ip);
	bool is_end = rule.kind == GMT_UNWIND_END, by_fp = rule.kind == GMT_UNWIND_BY_FP;

	if (!is_end &&
		(rule.kind > GMT_UNWIND_BY_FP || rule.cfa_words >> GMT_RULE_CACHE_CFA_BITS ||
			rule.saved_words >> GMT_RULE_CACHE_SAVED_BITS))
		return rule;
	trail->used = trail->used == GMT_RULE_CACHE_NODES - 1 ? 1 : trail->used + 1;
	trail->nodes[trail->used] = ip |
		(is_end ? 0
				: (uint64_t)rule.cfa_words << GMT_RULE_CACHE_CFA_SHIFT |
					(uint64_t)rule.saved_words << GMT_RULE_CACHE_SAVED_SHIFT |
					(uint64_t)by_fp << GMT_RULE_CACHE_BY_FP_SHIFT);
	*ret_at = trail->used;
	*ret_start = (uint16_t)trail->used;
	return rule;
}
