/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_RANGES_H
#define SIMCUDA_RANGES_H

/*
 * A set of address ranges that do not overlap, found by any address inside them. A sorted array:
 * a search is a bisection, and a change moves the pointers behind it, which is cheaper than a tree
 * for the few thousand ranges that a training program has.
 *
 * The set points to ranges, which are the caller's and are usually the first member of something.
 * No locks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_range {
	uintptr_t start;
	size_t size_bytes;
};

struct sim_ranges {
	struct sim_range **items; /* by start */
	size_t count;
	size_t capacity;
};

/* False, and nothing is changed, when memory is short. The range must not overlap another one. */
bool sim_ranges_insert(struct sim_ranges *ranges, struct sim_range *range);
/* `range` must be in the set. */
void sim_ranges_remove(struct sim_ranges *ranges, const struct sim_range *range);
/* The range that contains `address`; NULL when none does. */
struct sim_range *sim_ranges_find(const struct sim_ranges *ranges, uintptr_t address);
/* How many ranges start below `address`: the index of the first one that does not. */
size_t sim_ranges_lower_bound(const struct sim_ranges *ranges, uintptr_t address);
bool sim_ranges_overlap(const struct sim_ranges *ranges, uintptr_t start, size_t size_bytes);

#endif
