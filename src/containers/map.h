/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_MAP_H
#define GMT_CONTAINERS_MAP_H

/*
 * A hash table from a 64-bit key to a 64-bit value: addresses to blocks, ids to places. It uses
 * open addressing. Deletion leaves no tombstones. So after a hundred million allocations and frees,
 * the speed depends only on the live entries. Zero-initialise before use. One thread at a time.
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

/*
 * Returns the slot that holds `key`, or the free slot where `key` belongs. Returns NULL for a table
 * that never held an entry.
 */
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

/* Finds the value of `key`. Returns false if the table does not contain `key`. */
static inline bool gmt_map_find(const struct gmt_map *map, uint64_t key, uint64_t *ret_value)
{
	const struct gmt_map_slot *slot = gmt_map_slot(map, key);

	if (!slot || !slot->value_plus_1)
		return false;
	*ret_value = slot->value_plus_1 - 1;
	return true;
}

/*
 * Sets `key` to `value` (below UINT64_MAX) and replaces an older value. Returns false when out of
 * memory.
 */
bool gmt_map_put(struct gmt_map *map, uint64_t key, uint64_t value);

/*
 * Returns the slot that holds `key`, or the free slot where `key` belongs, after it made room for
 * one more entry. Returns NULL when out of memory. The caller fills the slot with gmt_map_fill,
 * before any other change of the table.
 */
struct gmt_map_slot *gmt_map_slot_with_room(struct gmt_map *map, uint64_t key);

static inline void gmt_map_fill(struct gmt_map *map, struct gmt_map_slot *slot, uint64_t key,
	uint64_t value)
{
	map->count += !slot->value_plus_1;
	*slot = (struct gmt_map_slot){ .key = key, .value_plus_1 = value + 1 };
}

/* Removes `key`. Returns false if the table does not contain it. `ret_value` may be NULL. */
bool gmt_map_remove(struct gmt_map *map, uint64_t key, uint64_t *ret_value);

/* Removes the entry in a slot that gmt_map_slot found. Other entries may move. */
void gmt_map_remove_slot(struct gmt_map *map, struct gmt_map_slot *slot);

void gmt_map_fini(struct gmt_map *map);

/* Returns the hash of `length` bytes. It is the same on every machine and in every run. */
uint64_t gmt_hash_bytes(const void *bytes, size_t length);

#endif
