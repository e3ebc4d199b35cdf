/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_GROUPS_H
#define GMT_ANALYSIS_LEAKS_LEAK_GROUPS_H

/*
 * Groups of sites: each finding is about one group. A group has one own line of the user, one
 * layer, one space and one device. Private to analysis/leaks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/history/categories.h"
#include "analysis/history/history.h"
#include "analysis/leaks/leaks.h"
#include "containers/map.h"

/* A group of sites. */
struct gmt_leak_group {
	uint32_t layer;
	int32_t device;
	uint32_t space;
	uint32_t frame_kinds;  /* bits of all its stacks */
	bool is_cache;       /* segments of PyTorch's allocator, or arenas of another library */
	/* Blocks of PyTorch. With its backend cudaMallocAsync they are blocks of the driver. */
	bool is_torch;
	/*
	 * Blocks of another array framework, from the driver or from a custom heap with the framework's
	 * name.
	 */
	bool is_array;
};

/* The blocks of a captured moment, sorted by group. Within a group the oldest block is first. */
struct gmt_leak_sorted_blocks {
	GMT_VEC(struct gmt_history_block) blocks;
	GMT_VEC(size_t) first; /* by group, with one extra entry at the end */
};

/* Data that all steps of making findings share. */
struct gmt_leak_builder {
	struct gmt_leaks *leaks;
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	const struct gmt_replay *replay;
	const struct gmt_history *history;
	const struct gmt_leaks_options *options;
	GMT_VEC(struct gmt_leak_group) groups;
	GMT_VEC(uint32_t) group_plus_1_of;  /* by site: group + 1; 0: no group */
	GMT_VEC(bool) is_reported;   /* by group */
	struct gmt_leak_sorted_blocks sorted[GMT_HISTORY_MOMENTS];
};

/*
 * Returns the blocks of a group at a moment, and their number in *ret_count. Borrowed from
 * `builder`.
 */
const struct gmt_history_block *gmt_leak_blocks(const struct gmt_leak_builder *builder,
	enum gmt_history_moment moment, uint32_t group, size_t *ret_count);

/* Fills groups, group_plus_1_of and sorted. False when out of memory. */
bool gmt_leak_groups_make(struct gmt_leak_builder *builder);

/*
 * Returns whether a definition judges a group, by the options or by default. A cache is never
 * judged. By default, definition exit does not judge arrays and tensors, because a global variable
 * may hold them.
 */
bool gmt_leak_is_judged(const struct gmt_leak_builder *builder, uint32_t group,
	enum gmt_leak_definition definition);

/* Returns whether a finding is about this block of a group. */
typedef bool gmt_leak_filter(const void *context, const struct gmt_history_block *block);

/*
 * Adds a finding about the blocks of `group` for which `fits` returns true (NULL: all blocks). Sets
 * *ret_leak to the new row, valid until the next row is added, or to NULL if no block fits. False
 * when out of memory.
 */
bool gmt_leak_add(struct gmt_leak_builder *builder, uint32_t group,
	enum gmt_leak_definition definition, const struct gmt_history_block *blocks, size_t count,
	gmt_leak_filter *fits, const void *context, struct gmt_leak **ret_leak);

/*
 * Sorts lines, the largest first. Returns how many of them a list shows: at most GMT_LEAK_LINES,
 * without lines of 0 bytes.
 */
size_t gmt_leak_sort_lines(struct gmt_leak_line *lines, size_t count);

/*
 * Returns why growth in a series cannot be judged in a compacted recording. NULL: it can be judged.
 */
const char *gmt_leak_why_growth_not_judged(const struct gmt_leak_builder *builder, uint32_t series);

/*
 * Writes into the leaks which definitions could not be judged because their events are in totals
 * only. Called after all other analyses.
 */
void gmt_leak_note_compacted(struct gmt_leak_builder *builder);

/* Finds growth by definition `growth` in all groups. */
bool gmt_leak_find_growth(struct gmt_leak_builder *builder);

void gmt_leak_groups_fini(struct gmt_leak_builder *builder);

/*
 * Gives each finding the hint about the usual cause that fits its evidence, if one fits. False when
 * out of memory.
 */
bool gmt_leak_add_hints(struct gmt_leak_builder *builder);

#endif
