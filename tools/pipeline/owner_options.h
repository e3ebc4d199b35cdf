/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_OWNER_OPTIONS_H
#define GMT_TOOLS_PIPELINE_OWNER_OPTIONS_H

/*
 * Option --owners of the verbs: files with rules that say which library asked for memory
 * (docs/owners.md).
 */

#include "reader/stacks/owner_rules.h"
#include "tools/options/options.h"

/* The row of the option, for a verb that has a struct gmt_option_texts at `offset`. */
#define GMT_OWNERS_OPTION(offset) \
	{ "owners", 0, GMT_OPTION_TEXTS, "FILE", offset, \
		"rules for the owner of a block, e.g. `own name library libname*`, before the built-in " \
		"rules; may be repeated" }

/*
 * Reads the files in their order, and adds the built-in rules after them. Returns 0, or an exit
 * code after an error message. In both cases, end `ret_rules` (zeroed) with gmt_owner_rules_fini.
 */
int gmt_owner_options_load_rules(const struct gmt_option_texts *paths,
	struct gmt_owner_rules *ret_rules);

#endif
