/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_INTERVALS_H
#define GMT_CONTAINERS_INTERVALS_H

/*
 * Address ranges, which may overlap. The queries are: which range contains an address, and which
 * range begins next? It is a balanced tree (AVL), ordered by the first address. Each node stores
 * the largest end in its subtree. Each call takes logarithmic time for any set of ranges.
 * Zero-initialise before use. One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_interval {
	uint64_t first, end;   /* [first, end) */
	uint64_t furthest_end; /* largest end of this node and its subtree */
	/* index + 1; 0: no child. In an unused node, `left` is the next unused node, plus 1 */
	uint32_t left, right;
	int32_t height;
};

struct gmt_intervals {
	GMT_VEC(struct gmt_interval) nodes;
	uint32_t root;        /* index + 1 */
	uint32_t free_plus_1;
};

/*
 * Adds [first, end). If a range already begins at `first`, sets its end. Returns false when out of
 * memory.
 */
bool gmt_intervals_put(struct gmt_intervals *intervals, uint64_t first, uint64_t end);

/* Removes the range that begins at `first`, if there is one. */
void gmt_intervals_remove(struct gmt_intervals *intervals, uint64_t first);

/*
 * Finds the range that contains `address`; if there are several, the one that begins last. Returns
 * false if there is no such range.
 */
bool gmt_intervals_find(const struct gmt_intervals *intervals, uint64_t address,
	uint64_t *ret_first);

/*
 * Finds the first range that begins at or after `address`. Returns false if there is no such range.
 */
bool gmt_intervals_next(const struct gmt_intervals *intervals, uint64_t address,
	uint64_t *ret_first);

void gmt_intervals_fini(struct gmt_intervals *intervals);

#endif
