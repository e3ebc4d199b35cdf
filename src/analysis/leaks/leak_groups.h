/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_GROUPS_H
#define GMT_ANALYSIS_LEAKS_LEAK_GROUPS_H

/*
 * Sites grouped by the user's own line, in one layer and space on one device: what findings of leaks
 * are about. Part of analysis/leaks; nobody else includes it.
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
	uint32_t frame_kinds;  /* of all its stacks */
	bool is_cache;       /* segments of PyTorch's allocator */
	bool is_torch;       /* PyTorch's blocks; with its backend cudaMallocAsync they are the driver's */
	bool is_array;       /* blocks of another framework of arrays, of the driver's or of a heap of its name */
};

/* The blocks of a captured moment, those of a group next to each other, oldest first. */
struct gmt_leak_sorted {
	GMT_VEC(struct gmt_history_block) blocks;
	GMT_VEC(size_t) first; /* by group; one more behind the last */
};

/* What the making of findings shares. */
struct gmt_leak_maker {
	struct gmt_leaks *leaks;
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	const struct gmt_replay *replay;
	const struct gmt_history *history;
	const struct gmt_leaks_options *options;
	GMT_VEC(struct gmt_leak_group) groups;
	GMT_VEC(uint32_t) group_of;  /* by site, + 1; 0: no group */
	GMT_VEC(bool) is_reported;   /* by group */
	struct gmt_leak_sorted sorted[GMT_MOMENTS];
};

/* The blocks of a group at a moment. */
const struct gmt_history_block *gmt_leak_blocks(const struct gmt_leak_maker *maker, enum gmt_history_moment moment,
	uint32_t group, size_t *ret_count);

/* Fills groups, group_of and sorted. */
bool gmt_leak_groups_make(struct gmt_leak_maker *maker);

/*
 * Whether a definition judges a group, by the options or by default. A cache is never judged. Arrays and tensors that
 * live when the program ends are none of exit: a global variable holds them.
 */
bool gmt_leak_is_judged(const struct gmt_leak_maker *maker, uint32_t group, enum gmt_leak_definition definition);

/* Says which of a group's blocks a finding is about. */
typedef bool gmt_leak_fits(const void *context, const struct gmt_history_block *block);

/*
 * A finding about those of these blocks of `group` for which `fits` says yes (NULL: all). *ret_leak is
 * the row, good until the next one, or NULL when there are no such blocks. False when out of memory.
 */
bool gmt_leak_add(struct gmt_leak_maker *maker, uint32_t group, enum gmt_leak_definition definition,
	const struct gmt_history_block *blocks, size_t count, gmt_leak_fits *fits, const void *context,
	struct gmt_leak **ret_leak);

/* Sorts lines, the largest first, and returns how many of them a list shows: the first few, none of 0 bytes. */
size_t gmt_leak_sort_lines(struct gmt_leak_line *lines, size_t count);

/* Why the growth of a series cannot be told from a folded recording; NULL when it can. */
const char *gmt_leak_folded_series(const struct gmt_leak_maker *maker, uint32_t series);

/* Says what could not be judged because its events are in totals only. Once all else is said. */
void gmt_leak_say_folded(struct gmt_leak_maker *maker);

/* Definition growth, for all groups. */
bool gmt_leak_find_growth(struct gmt_leak_maker *maker);

void gmt_leak_groups_fini(struct gmt_leak_maker *maker);

/* Gives each finding the usual cause that fits the evidence, if one does. False when out of memory. */
bool gmt_leak_give_hints(struct gmt_leak_maker *maker);

#endif
