/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_MAP_H
#define GMT_BASE_MAP_H

/*
 * A hash table from a 64-bit key to a 64-bit value: addresses to blocks, ids to places. Open
 * addressing with deletion that leaves no marks, so that a table that sees a hundred million
 * allocations and frees stays as fast as its live entries allow. Zero-initialise to make one.
 * One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_map_slot {
	uint64_t key;
	uint64_t value_plus_1; /* 0: the slot is free */
};

struct gmt_map {
	struct gmt_map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* Finds the value of `key`; false when there is none. */
bool gmt_map_find(const struct gmt_map *map, uint64_t key, uint64_t *ret_value);

/* Sets `key` to `value` (below UINT64_MAX), replacing what was there; false when out of memory. */
bool gmt_map_put(struct gmt_map *map, uint64_t key, uint64_t value);

/* Takes `key` out; false when it was not there. `ret_value` may be NULL. */
bool gmt_map_remove(struct gmt_map *map, uint64_t key, uint64_t *ret_value);

void gmt_map_fini(struct gmt_map *map);

/* Mixes all bits of `value` into all bits of the result. */
uint64_t gmt_hash_u64(uint64_t value);

/* Hash of `length` bytes. Same on every machine and run. */
uint64_t gmt_hash_bytes(const void *bytes, size_t length);

#endif
