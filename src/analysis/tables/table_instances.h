/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_TABLE_INSTANCES_H
#define GMT_ANALYSIS_TABLES_TABLE_INSTANCES_H

/*
 * Moves the blocks of module instances from the rows of a table by module to rows of their own.
 * Part of analysis/tables.
 */

#include "analysis/history/module_tensors.h"
#include "analysis/tables/tables.h"

/* What the instances hold of a site's blocks. */
struct gmt_instance_share {
	uint64_t peak_bytes, peak_blocks, live_bytes, live_blocks, total_bytes, allocs;
};

struct gmt_instance_shares { /* Layout of a GMT_VEC, by site. */
	struct gmt_instance_share *items;
	size_t count, capacity;
};

/*
 * Adds a row for each instance to the table, which must have no rows. Sets `ret_shares` to what the
 * instances hold of each site. `ret_shares` must be zeroed and belongs to the caller. False when
 * out of memory.
 */
bool gmt_table_add_instances(struct gmt_table *table, const struct gmt_replay *replay,
	const struct gmt_module_tensors *tensors, struct gmt_instance_shares *ret_shares);

/* Subtracts what the instances hold from a site. False: nothing remains. */
bool gmt_table_subtract_instances(const struct gmt_instance_shares *shares, struct gmt_site *site);

#endif
