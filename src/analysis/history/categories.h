/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_CATEGORIES_H
#define GMT_ANALYSIS_HISTORY_CATEGORIES_H

/* The purpose of a site's blocks, by the rules of categories.def. */

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
 * Returns the category of a site of `replay`. `history` says which blocks were kept. It may be
 * NULL: then all blocks that an optimizer makes count as its state.
 */
enum gmt_category gmt_category_of(const struct gmt_replay *replay, const struct gmt_traces *traces,
	const struct gmt_history *history, uint32_t site);

/* Returns the category of tensors that a module or an optimizer holds in this role. */
enum gmt_category gmt_category_of_role(uint8_t role);

/* Returns the name of a category ("optimizer state"). */
const char *gmt_category_name(enum gmt_category category);

#endif
