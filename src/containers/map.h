/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_MAP_H
#define GMT_CONTAINERS_MAP_H

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

/* Mixes all bits of `value` into all bits of the result. */
static inline uint64_t gmt_hash_u64(uint64_t value)
{
	__uint128_t product = (__uint128_t)(value ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The slot that holds `key`, or the free one where it belongs; NULL in a table that never held anything. */
static inline struct gmt_map_slot *gmt_map_slot(const struct gmt_map *map, uint64_t key)
{
	size_t at;

	if (!map->slots)
		return NULL;
	at = gmt_hash_u64(key) & (map->capacity - 1);
	while (map->slots[at].value_plus_1 && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

/* Finds the value of `key`; false when there is none. */
static inline bool gmt_map_find(const struct gmt_map *map, uint64_t key, uint64_t *ret_value)
{
	const struct gmt_map_slot *slot = gmt_map_slot(map, key);

	if (!slot || !slot->value_plus_1)
		return false;
	*ret_value = slot->value_plus_1 - 1;
	return true;
}

/* Sets `key` to `value` (below UINT64_MAX), replacing what was there; false when out of memory. */
bool gmt_map_put(struct gmt_map *map, uint64_t key, uint64_t value);

/*
 * The slot that holds `key`, or the free one where it belongs, in a table that has room for one more; NULL when out of
 * memory. What goes there is put by gmt_map_fill, before anything else changes.
 */
struct gmt_map_slot *gmt_map_slot_with_room(struct gmt_map *map, uint64_t key);

static inline void gmt_map_fill(struct gmt_map *map, struct gmt_map_slot *slot, uint64_t key, uint64_t value)
{
	map->count += !slot->value_plus_1;
	*slot = (struct gmt_map_slot){ .key = key, .value_plus_1 = value + 1 };
}

/* Takes `key` out; false when it was not there. `ret_value` may be NULL. */
bool gmt_map_remove(struct gmt_map *map, uint64_t key, uint64_t *ret_value);

/* Takes out what is in a slot that gmt_map_slot found; other slots change. */
void gmt_map_remove_slot(struct gmt_map *map, struct gmt_map_slot *slot);

void gmt_map_fini(struct gmt_map *map);

/* Hash of `length` bytes. Same on every machine and run. */
uint64_t gmt_hash_bytes(const void *bytes, size_t length);

#endif
