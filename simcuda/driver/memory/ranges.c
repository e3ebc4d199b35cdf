/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t sim_ranges_lower_bound(const struct sim_ranges *ranges, uintptr_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->items[middle]->start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts the items into the middle of the storage. If they fill more than half, doubles it first. */
static bool make_room(struct sim_ranges *ranges)
{
	size_t bytes = ranges->count * sizeof(struct sim_range *);

	if (ranges->count >= ranges->capacity / 2) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
		struct sim_range **storage = malloc(capacity * sizeof(struct sim_range *));

		if (!storage)
			return false;
		if (bytes)
			memcpy(storage, ranges->items, bytes);
		free(ranges->storage);
		ranges->storage = ranges->items = storage;
		ranges->capacity = capacity;
	}

	struct sim_range **items = ranges->storage + (ranges->capacity - ranges->count) / 2;
	memmove(items, ranges->items, bytes);
	ranges->items = items;
	return true;
}

bool sim_ranges_insert(struct sim_ranges *ranges, struct sim_range *range)
{
	size_t index = sim_ranges_lower_bound(ranges, range->start);
	bool is_low = index < ranges->count / 2;

	if (ranges->items ==
			(is_low ? ranges->storage : ranges->storage + ranges->capacity - ranges->count) &&
		!make_room(ranges))
		return false;
	if (is_low) {
		ranges->items--;
		memmove(ranges->items, ranges->items + 1, index * sizeof(struct sim_range *));
	} else {
		memmove(&ranges->items[index + 1], &ranges->items[index],
			(ranges->count - index) * sizeof(struct sim_range *));
	}
	ranges->items[index] = range;
	ranges->count++;
	return true;
}

void sim_ranges_remove(struct sim_ranges *ranges, const struct sim_range *range)
{
	size_t index = sim_ranges_lower_bound(ranges, range->start);

	assert(index < ranges->count && ranges->items[index] == range);
	ranges->count--;
	if (index < ranges->count / 2) {
		memmove(ranges->items + 1, ranges->items, index * sizeof(struct sim_range *));
		ranges->items++;
	} else {
		memmove(&ranges->items[index], &ranges->items[index + 1],
			(ranges->count - index) * sizeof(struct sim_range *));
	}
}

struct sim_range *sim_ranges_find(const struct sim_ranges *ranges, uintptr_t address)
{
	size_t above = sim_ranges_lower_bound(ranges, address + 1);

	if (above == 0)
		return NULL;
	struct sim_range *range = ranges->items[above - 1];
	return address - range->start < range->size_bytes ? range : NULL;
}

bool sim_ranges_overlap(const struct sim_ranges *ranges, uintptr_t start, size_t size_bytes)
{
	size_t index = sim_ranges_lower_bound(ranges, start);

	if (index < ranges->count && ranges->items[index]->start - start < size_bytes)
		return true;
	return sim_ranges_find(ranges, start) != NULL;
}
