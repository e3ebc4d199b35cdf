/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_INTERVALS_H
#define GMT_CONTAINERS_INTERVALS_H

/*
 * Ranges of addresses, which may overlap: which range holds an address, and which range begins next? A balanced tree
 * (AVL) ordered by the first address; each node knows the furthest end below it. Each call takes a time that grows with
 * the logarithm of the number of ranges, whatever they are. Zero-initialise to make one. One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_interval {
	uint64_t first, end;   /* [first, end) */
	uint64_t furthest_end; /* of this node and those below it */
	uint32_t left, right;  /* index + 1; 0: none. `left` of an unused node: the next unused one, plus 1 */
	int32_t height;
};

struct gmt_intervals {
	GMT_VEC(struct gmt_interval) nodes;
	uint32_t root;        /* index + 1 */
	uint32_t free_plus_1;
};

/* Adds [first, end). A range that begins at `first` already gets the new end. False when out of memory. */
bool gmt_intervals_put(struct gmt_intervals *intervals, uint64_t first, uint64_t end);

/* Takes the range that begins at `first` out, if there is one. */
void gmt_intervals_remove(struct gmt_intervals *intervals, uint64_t first);

/* The range that holds `address`; of several, the one that begins last. False: none does. */
bool gmt_intervals_find(const struct gmt_intervals *intervals, uint64_t address, uint64_t *ret_first);

/* The first range that begins at or behind `address`. False: none does. */
bool gmt_intervals_next(const struct gmt_intervals *intervals, uint64_t address, uint64_t *ret_first);

void gmt_intervals_fini(struct gmt_intervals *intervals);

#endif
