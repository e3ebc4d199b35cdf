/* SPDX-License-Identifier: MIT */
#include "containers/map.h"

#include <string.h>

#include "base/pages.h"

enum { FIRST_CAPACITY = 256 };

uint64_t gmt_hash_bytes(const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t hash = gmt_hash_u64(length);

	for (; length >= 8; length -= 8, at += 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		hash = gmt_hash_u64(hash ^ word) + word;
	}
	if (length) {
		uint64_t word = 0;

		memcpy(&word, at, length);
		hash = gmt_hash_u64(hash ^ word) + word;
	}
	return gmt_hash_u64(hash);
}

static bool grow(struct gmt_map *map)
{
	struct gmt_map bigger = {
		.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
		.count = map->count,
	};

	bigger.slots = gmt_pages_grow(NULL, 0, bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value_plus_1)
			*gmt_map_slot(&bigger, map->slots[i].key) = map->slots[i];
	gmt_pages_free(map->slots, map->capacity * sizeof(*map->slots));
	*map = bigger;
	return true;
}

struct gmt_map_slot *gmt_map_slot_with_room(struct gmt_map *map, uint64_t key)
{
	/* The table is at most half full, so a search examines one or two slots. */
	if (map->count * 2 >= map->capacity && !grow(map))
		return NULL;
	return gmt_map_slot(map, key);
}

bool gmt_map_put(struct gmt_map *map, uint64_t key, uint64_t value)
{
	struct gmt_map_slot *slot = gmt_map_slot_with_room(map, key);

	if (slot)
		gmt_map_fill(map, slot, key, value);
	return slot;
}

void gmt_map_remove_slot(struct gmt_map *map, struct gmt_map_slot *slot)
{
	size_t hole = (size_t)(slot - map->slots), mask = map->capacity - 1;

	/*
	 * Moves back every following entry that a search from its home slot could no longer reach
	 * across the hole.
	 */
	for (size_t at = (hole + 1) & mask; map->slots[at].value_plus_1; at = (at + 1) & mask) {
		size_t home = gmt_hash_u64(map->slots[at].key) & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole].value_plus_1 = 0;
	map->count--;
}

bool gmt_map_remove(struct gmt_map *map, uint64_t key, uint64_t *ret_value)
{
	struct gmt_map_slot *slot = gmt_map_slot(map, key);

	if (!slot || !slot->value_plus_1)
		return false;
	if (ret_value)
		*ret_value = slot->value_plus_1 - 1;
	gmt_map_remove_slot(map, slot);
	return true;
}

void gmt_map_fini(struct gmt_map *map)
{
	gmt_pages_free(map->slots, map->capacity * sizeof(*map->slots));
	*map = (struct gmt_map){ 0 };
}
