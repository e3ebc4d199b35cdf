/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_RANGES_H
#define SIMCUDA_RANGES_H

/*
 * A set of address ranges that do not overlap. A lookup accepts any address inside a range. The set
 * is a sorted array: a lookup is a binary search, and a change moves the pointers before or behind
 * the changed one, whichever are fewer. The array has room at both ends, because the kernel gives
 * each new mapping a lower address. For the ranges of a training program, this is cheaper than a
 * tree.
 *
 * The set stores pointers to ranges. The caller owns the ranges; a range is usually the first
 * member of a larger struct. The set has no lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_range {
	uintptr_t start;
	size_t size_bytes;
};

struct sim_ranges {
	struct sim_range **storage;
	size_t capacity; /* pointers in `storage` */
	struct sim_range **items; /* the used part of `storage`, sorted by start */
	size_t count;
};

/*
 * Adds a range, which must not overlap another one. If memory is short, returns false and changes
 * nothing.
 */
bool sim_ranges_insert(struct sim_ranges *ranges, struct sim_range *range);
/* Removes a range, which must be in the set. */
void sim_ranges_remove(struct sim_ranges *ranges, const struct sim_range *range);
/* Returns the range that contains `address`, or NULL. */
struct sim_range *sim_ranges_find(const struct sim_ranges *ranges, uintptr_t address);
/*
 * Returns how many ranges start below `address`. This is the index of the first range that starts
 * at or above it.
 */
size_t sim_ranges_lower_bound(const struct sim_ranges *ranges, uintptr_t address);
bool sim_ranges_overlap(const struct sim_ranges *ranges, uintptr_t start, size_t size_bytes);

#endif
