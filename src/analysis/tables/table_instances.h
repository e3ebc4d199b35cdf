/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_TABLE_INSTANCES_H
#define GMT_ANALYSIS_TABLES_TABLE_INSTANCES_H

/* What instances of modules take out of the rows of a table by module. Part of analysis/tables. */

#include "analysis/history/module_tensors.h"
#include "analysis/tables/tables.h"

/* What the instances have of a site's blocks. */
struct gmt_table_taken {
	uint64_t peak_bytes, peak_blocks, live_bytes, live_blocks, total_bytes, allocs;
};

struct gmt_table_takens { /* a GMT_VEC, by site */
	struct gmt_table_taken *items;
	size_t count, capacity;
};

/*
 * Puts a row for each instance into the table, which has none yet, and says what these have of each site. False when out of
 * memory. `ret_taken` (zeroed) is the caller's.
 */
bool gmt_table_add_instances(struct gmt_table *table, const struct gmt_replay *replay,
	const struct gmt_module_tensors *tensors, struct gmt_table_takens *ret_taken);

/* What is left of a site; false: nothing. */
bool gmt_table_leave(const struct gmt_table_takens *taken, struct gmt_site *site);

#endif
