/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_CATEGORIES_H
#define GMT_ANALYSIS_HISTORY_CATEGORIES_H

/* What a site's blocks are for, by the rules of categories.def. */

#include "analysis/history/history.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

enum gmt_category {
#define GMT_CATEGORY(NAME, name, rule) GMT_CATEGORY_##NAME,
#include "analysis/history/categories.def"
#undef GMT_CATEGORY
	GMT_CATEGORIES,
};

/*
 * The category of a site of `replay`. `history` (may be NULL: then what an optimizer makes is its
 * state) says what was kept.
 */
enum gmt_category gmt_category_of(const struct gmt_replay *replay, const struct gmt_traces *traces,
	const struct gmt_history *history, uint32_t site);

/* What a module or an optimizer holds so. */
enum gmt_category gmt_category_of_role(uint8_t role);

/* "parameters", "optimizer state"; what the rule says in words. */
const char *gmt_category_name(enum gmt_category category);
const char *gmt_category_rule(enum gmt_category category);

#endif
