/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_TABLES_H
#define GMT_ANALYSIS_TABLES_TABLES_H

/*
 * Shows who holds how much, by line, function, operator, module, owner, category, step and so on,
 * by grouping the sites. The rows of a layer on a device sum to its peak, its live bytes and its
 * total. A pure function.
 *
 * By module: a block that PyTorch named is in the row of that module instance. Other blocks are in
 * the row of the classes whose calls made them. A stack shows the class of a module, but not the
 * instance.
 */

#include <stdint.h>

#include "analysis/history/history.h"
#include "analysis/history/site_table.h"
#include "analysis/allocator/allocator_state.h"
#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/steps/timeline.h"

enum gmt_table_grouping {
#define GMT_TABLE_KEY(NAME, ...) GMT_TABLE_##NAME,
#include "analysis/tables/table_keys.def"
#undef GMT_TABLE_KEY
	GMT_TABLE_KEYS,
};

/* Set in `number` of rows of instances. */
#define GMT_TABLE_INSTANCE (UINT32_C(1) << 31)

/* For modules: what one instance holds, by enum gmt_history_role. */
struct gmt_table_instance {
	struct {
		uint64_t peak_bytes, live_bytes, total_bytes;
	} roles[GMT_ROLES];
};

struct gmt_table_row {
	uint32_t layer;
	int32_t device;        /* GMT_DEVICE_HOST: host memory */
	/* NULL: no name. Lines, functions and steps use the fields below instead. */
	const char *name;
	uint32_t place_plus_1; /* for lines and functions: a frame, + 1; 0: no stack */
	/* For steps: in timeline->series. GMT_BLOCK_ORIGIN_NO_SERIES: outside of steps. */
	uint32_t series, step;
	uint64_t peak_bytes, peak_blocks; /* when its layer on that device peaked */
	uint64_t live_bytes, live_blocks;
	uint64_t total_bytes, allocs, largest_bytes;
	uint64_t max_live_bytes; /* for owners: the most that it held at any time; otherwise 0 */
	/* For modules: index in `instances`, + 1. 0: calls of modules of these classes. */
	uint32_t instance_plus_1;
	uint32_t sites;        /* for steps and phases: 0 */
	uint32_t number;       /* distinguishes the rows */
};

struct gmt_table {
	enum gmt_table_grouping key;
	struct gmt_intern names;
	GMT_VEC(struct gmt_table_instance) instances;
	/*
	 * By layer number, the highest first (torch before cuda). Then by device, then by the sort key,
	 * the largest first.
	 */
	GMT_VEC(struct gmt_table_row) rows;
};

/*
 * `history` (may be NULL), `sites` and `allocator_state` must be from `replay`. Only
 * gmt_table_compute needs the last two.
 */
struct gmt_table_input {
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_history *history;
	const struct gmt_sites *sites;
	const struct gmt_allocator_state *allocator_state;
};

/*
 * Makes the table. Fails only for lack of memory. `ret_table` must be zeroed and borrows from
 * input->allocator_state. The caller owns it and ends it with gmt_table_fini.
 */
enum gmt_status gmt_table_compute(struct gmt_table *ret_table, enum gmt_table_grouping key,
	const struct gmt_table_input *input, enum gmt_sites_order sort, struct gmt_error *error);

/* Returns the rows of one layer on one device: *ret_count rows, from the returned row on. */
const struct gmt_table_row *gmt_table_rows_of(const struct gmt_table *table, uint32_t layer,
	int32_t device, size_t *ret_count);

void gmt_table_fini(struct gmt_table *table);

/*
 * Return the name of a key ("line"), its title ("part of a step") and the name of a row without it
 * ("no stack").
 */
const char *gmt_table_key_name(enum gmt_table_grouping key);
const char *gmt_table_key_title(enum gmt_table_grouping key);
const char *gmt_table_key_none(enum gmt_table_grouping key);

/*
 * Writes the name of the site's row, such as "step (train.py:31)" for lines, cut to `size` bytes.
 * A site without the key has the name of such rows in parentheses: "(outside of modules)". For
 * modules, the row is that of the classes whose calls are in the stack. `key` must not be STEP or
 * PHASE, because the blocks of one site are made in several of them.
 */
void gmt_table_group(enum gmt_table_grouping key, const struct gmt_table_input *input,
	uint32_t site, char *ret_name, size_t size);

/*
 * Writes the name of a step's row: "step 3", or "(outside of steps)" if `series` is none of the
 * timeline's.
 */
void gmt_table_step_name(const struct gmt_timeline *timeline, uint32_t series, uint32_t step,
	char *ret_name, size_t size);

#endif
