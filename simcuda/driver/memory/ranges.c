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

bool sim_ranges_insert(struct sim_ranges *ranges, struct sim_range *range)
{
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
		struct sim_range **items = realloc(ranges->items, capacity * sizeof(struct sim_range *));
		if (!items)
			return false;
		ranges->items = items;
		ranges->capacity = capacity;
	}

	size_t index = sim_ranges_lower_bound(ranges, range->start);
	memmove(&ranges->items[index + 1], &ranges->items[index],
		(ranges->count - index) * sizeof(struct sim_range *));
	ranges->items[index] = range;
	ranges->count++;
	return true;
}

void sim_ranges_remove(struct sim_ranges *ranges, const struct sim_range *range)
{
	size_t index = sim_ranges_lower_bound(ranges, range->start);

	assert(index < ranges->count && ranges->items[index] == range);
	ranges->count--;
	memmove(&ranges->items[index], &ranges->items[index + 1],
		(ranges->count - index) * sizeof(struct sim_range *));
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
