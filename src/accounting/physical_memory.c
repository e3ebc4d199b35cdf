/* SPDX-License-Identifier: MIT */
#include "accounting/physical_memory.h"

#include <stddef.h>

uint32_t gmt_physical_create(struct gmt_physical *physical, uint64_t handle,
	const struct gmt_physical_memory *physical_memory)
{
	bool again = physical->free_memory_plus_1;
	uint32_t index = again ? physical->free_memory_plus_1 - 1 : (uint32_t)physical->memory.count;
	struct gmt_physical_memory *memory;

	if (index == GMT_PHYSICAL_NONE || !gmt_vec_reserve(&physical->memory, 1) ||
		!gmt_map_put(&physical->handles, handle, index))
		return GMT_PHYSICAL_NONE;
	memory = &physical->memory.items[index];
	if (again)
		physical->free_memory_plus_1 = (uint32_t)memory->handle;
	else
		physical->memory.count++;
	*memory = *physical_memory;
	memory->handle = handle;
	memory->references = 1;
	memory->mappings = 0;
	return index;
}

void gmt_physical_free_number(struct gmt_physical *physical, uint32_t index)
{
	struct gmt_physical_memory *memory = &physical->memory.items[index];

	*memory = (struct gmt_physical_memory){ .handle = physical->free_memory_plus_1 };
	physical->free_memory_plus_1 = index + 1;
}

uint32_t gmt_physical_find(const struct gmt_physical *physical, uint64_t handle)
{
	uint64_t index;

	return gmt_map_find(&physical->handles, handle, &index) ? (uint32_t)index : GMT_PHYSICAL_NONE;
}

uint32_t gmt_physical_find_mapped(const struct gmt_physical *physical, uint64_t address)
{
	uint64_t index, first;

	if (!gmt_map_find(&physical->mapped, address, &index) &&
		(!gmt_intervals_find(&physical->ranges, address, &first) ||
			!gmt_map_find(&physical->mapped, first, &index)))
		return GMT_PHYSICAL_NONE;
	return physical->mappings.items[index].memory;
}

bool gmt_physical_retain(struct gmt_physical *physical, uint32_t index, uint64_t handle)
{
	struct gmt_physical_memory *memory = &physical->memory.items[index];

	if (!gmt_map_put(&physical->handles, handle, index))
		return false;
	memory->handle = handle;
	memory->references++;
	return true;
}

/*
 * Forgets the handle of memory that has neither references nor mappings, and returns whether it
 * did. While mappings keep the memory alive, its handle stays valid: the program may import or
 * retain it again.
 */
static bool forget_if_dead(struct gmt_physical *physical, uint32_t index)
{
	const struct gmt_physical_memory *memory = &physical->memory.items[index];

	if (memory->references || memory->mappings)
		return false;
	if (gmt_physical_find(physical, memory->handle) == index)
		gmt_map_remove(&physical->handles, memory->handle, NULL);
	return true;
}

uint32_t gmt_physical_release(struct gmt_physical *physical, uint64_t handle)
{
	uint32_t index = gmt_physical_find(physical, handle);

	if (index == GMT_PHYSICAL_NONE) {
		physical->unknown_handles++;
		return GMT_PHYSICAL_NONE;
	}

	struct gmt_physical_memory *memory = &physical->memory.items[index];
	if (memory->references && --memory->references)
		return GMT_PHYSICAL_NONE;
	return forget_if_dead(physical, index) ? index : GMT_PHYSICAL_NONE;
}

/*
 * Removes one mapping. Returns the memory if only this mapping kept it alive, else
 * GMT_PHYSICAL_NONE.
 */
static uint32_t unmap_one(struct gmt_physical *physical, uint64_t key, uint64_t *ret_size_bytes)
{
	struct gmt_physical_mapping *mapping;
	struct gmt_physical_memory *memory;
	uint64_t index;

	*ret_size_bytes = 0;
	if (!gmt_map_remove(&physical->mapped, key, &index))
		return GMT_PHYSICAL_NONE;
	gmt_intervals_remove(&physical->ranges, key);
	mapping = &physical->mappings.items[index];
	memory = &physical->memory.items[mapping->memory];
	*ret_size_bytes = mapping->size_bytes;
	mapping->next_free_plus_1 = physical->free_mapping_plus_1;
	physical->free_mapping_plus_1 = (uint32_t)index + 1;
	memory->mappings--;
	return forget_if_dead(physical, mapping->memory) ? mapping->memory : GMT_PHYSICAL_NONE;
}

bool gmt_physical_map(struct gmt_physical *physical, uint64_t key, uint64_t size_bytes,
	uint32_t memory)
{
	uint64_t older_bytes, index = physical->mappings.count;

	if (!size_bytes || !gmt_vec_reserve(&physical->mappings, 1) || index >= UINT32_MAX - 1)
		return size_bytes == 0;
	/* If a mapping is still here, its unmap was missed. That mapping has ended. */
	unmap_one(physical, key, &older_bytes);
	if (physical->free_mapping_plus_1)
		index = physical->free_mapping_plus_1 - 1;
	if (!gmt_map_put(&physical->mapped, key, index) ||
		!gmt_intervals_put(&physical->ranges, key,
			size_bytes > UINT64_MAX - key ? UINT64_MAX : key + size_bytes))
		return false;
	if (physical->free_mapping_plus_1)
		physical->free_mapping_plus_1 = physical->mappings.items[index].next_free_plus_1;
	else
		physical->mappings.count++;
	physical->mappings.items[index] =
		(struct gmt_physical_mapping){ .size_bytes = size_bytes, .memory = memory };
	physical->memory.items[memory].mappings++;
	return true;
}

bool gmt_physical_unmap_next(struct gmt_physical *physical, uint64_t *key, uint64_t end,
	uint32_t *ret_ended)
{
	uint64_t size_bytes, index;

	/* Mappings that are unmapped together usually lie next to each other. A gap is rare. */
	if (*key < end && !gmt_map_find(&physical->mapped, *key, &index) &&
		!gmt_intervals_next(&physical->ranges, *key, key))
		return false;
	if (*key >= end)
		return false;
	*ret_ended = unmap_one(physical, *key, &size_bytes);
	*key = size_bytes > UINT64_MAX - *key ? UINT64_MAX : *key + size_bytes;
	return true;
}

/* The highest bits keep multicast keys apart from addresses: no device address uses these bits. */
uint64_t gmt_physical_multicast_keys(uint32_t multicast, uint64_t *ret_end)
{
	uint64_t first = (uint64_t)1 << 63 | (uint64_t)(multicast & 0xffffff) << 39;

	*ret_end = first + ((uint64_t)1 << 39);
	return first;
}

uint64_t gmt_physical_multicast_key(uint32_t multicast, int16_t device, uint64_t offset)
{
	uint64_t end;

	return gmt_physical_multicast_keys(multicast, &end) | (uint64_t)(device & 0x3f) << 33 |
		((offset >> 16) & 0x1ffffffff);
}

void gmt_physical_fini(struct gmt_physical *physical)
{
	gmt_vec_fini(&physical->memory);
	gmt_vec_fini(&physical->mappings);
	gmt_map_fini(&physical->handles);
	gmt_map_fini(&physical->mapped);
	gmt_intervals_fini(&physical->ranges);
}
