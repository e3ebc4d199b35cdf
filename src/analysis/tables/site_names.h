/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_SITE_NAMES_H
#define GMT_ANALYSIS_TABLES_SITE_NAMES_H

/* The name of the table row to which a site belongs, for viewers that show groups of stacks. */

#include <stddef.h>

#include "analysis/history/history.h"
#include "analysis/tables/tables.h"
#include "reader/steps/timeline.h"

/*
 * Writes the name of the site's group, such as "step (train.py:31)" for lines, cut to `size` bytes.
 * A site without the key has the name of such rows in parentheses: "(outside of modules)". For
 * modules, the group is the classes whose calls are in the stack. `key` must not be STEP or PHASE,
 * because the blocks of one site are made in several of them. `history` (may be NULL) says which
 * blocks were kept, for categories.
 */
void gmt_site_group_name(enum gmt_table_grouping key, const struct gmt_traces *traces,
	const struct gmt_replay *replay, const struct gmt_history *history, uint32_t site,
	char *ret_name, size_t size);

/*
 * Writes the name of a step's group: "step 3", or "(outside of steps)" if `series` is none of the
 * timeline's.
 */
void gmt_step_group_name(const struct gmt_timeline *timeline, uint32_t series, uint32_t step,
	char *ret_name, size_t size);

#endif
