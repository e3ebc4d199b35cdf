/* SPDX-License-Identifier: MIT */
#include "expected_blocks.h"

#include "format/format.h"

static bool is_graphics(const struct checkpoint_items *items, uint64_t handle)
{
	for (uint64_t i = 0; i < items->count; i++)
		if (items->list[i].kind == SIMCUDA_KIND_GRAPHICS_RESOURCE &&
			items->list[i].address == handle)
			return true;
	return false;
}

/* Returns the largest mapping of a handle. Counts its holders that the recorder cannot see. */
static uint64_t largest_mapping(const struct checkpoint_items *items, uint64_t handle,
	uint32_t *ret_tiles)
{
	uint64_t largest = 0;

	*ret_tiles = 0;
	for (uint64_t i = 0; i < items->count; i++) {
		const struct simcuda_item *item = &items->list[i];

		if (item->object != handle)
			continue;
		if (item->kind == SIMCUDA_KIND_TILES)
			++*ret_tiles;
		if (item->kind == SIMCUDA_KIND_MAPPING && item->size_bytes > largest)
			largest = item->size_bytes;
	}
	return largest;
}

/* The space in which a recording has each kind of item; 0: the recording lacks this kind. */
static const uint8_t space_of[] = {
	[SIMCUDA_KIND_DEVICE] = GMT_SPACE_DEVICE,
	[SIMCUDA_KIND_MANAGED] = GMT_SPACE_MANAGED,
	[SIMCUDA_KIND_PINNED] = GMT_SPACE_PINNED,
	[SIMCUDA_KIND_REGISTERED] = GMT_SPACE_REGISTERED,
	[SIMCUDA_KIND_POOL_BLOCK] = GMT_SPACE_POOL,
	[SIMCUDA_KIND_GRAPH_BLOCK] = GMT_SPACE_GRAPH,
	[SIMCUDA_KIND_IPC] = GMT_SPACE_IPC,
	[SIMCUDA_KIND_IMPORTED_BLOCK] = GMT_SPACE_IPC,
	[SIMCUDA_KIND_EXTERNAL_BUFFER] = GMT_SPACE_EXTERNAL_VIEW,
	[SIMCUDA_KIND_EXTERNAL_MEMORY] = GMT_SPACE_EXTERNAL,
	[SIMCUDA_KIND_ARRAY] = GMT_SPACE_ARRAY,
	[SIMCUDA_KIND_MIPMAP] = GMT_SPACE_ARRAY,
	[SIMCUDA_KIND_GRAPHICS_RESOURCE] = GMT_SPACE_GRAPHICS,
	[SIMCUDA_KIND_PHYSICAL] = GMT_SPACE_VMM,
	[SIMCUDA_KIND_IMPORTED_PHYSICAL] = GMT_SPACE_VMM_IMPORTED,
	[SIMCUDA_KIND_MULTICAST] = GMT_SPACE_MULTICAST,
	[SIMCUDA_KIND_CONTEXT] = GMT_SPACE_CONTEXT,
	[SIMCUDA_KIND_GREEN_CONTEXT] = GMT_SPACE_CONTEXT,
	[SIMCUDA_KIND_MODULE] = GMT_SPACE_MODULE,
};

static bool expected_physical_block(const struct checkpoint_items *items,
	const struct simcuda_item *item, struct live_block *block)
{
	uint32_t tiles;
	uint64_t mapped_bytes = largest_mapping(items, item->address, &tiles);

	if (item->kind == SIMCUDA_KIND_IMPORTED_PHYSICAL)
		block->min_bytes = mapped_bytes; /* no call returns the size; it is at least this large */
	else if (item->device < 0)
		block->space = GMT_SPACE_VMM_HOST;
	/* Descriptors and tiles of arrays also keep the memory alive, but only the driver sees that. */
	return item->references || item->mappings != tiles;
}

bool expected_block_of(const struct checkpoint_items *items, const struct simcuda_item *item,
	struct live_block *ret_block)
{
	struct live_block block = { .address = item->address,
		.min_bytes = item->size_bytes,
		.max_bytes = item->size_bytes,
		.device = (int16_t)item->device };
	bool is_known = true;

	block.space = (size_t)item->kind < sizeof(space_of) ? space_of[item->kind] : 0;
	switch (item->kind) {
	case SIMCUDA_KIND_IPC:
		block.references = item->references;
		break;
	case SIMCUDA_KIND_MIPMAP:
		/* A mipmap that shows a mapped resource belongs to the resource. */
		is_known = !item->object || !is_graphics(items, item->object);
		if (item->object) {
			block.space = GMT_SPACE_EXTERNAL_ARRAY;
			block.min_bytes = block.max_bytes = 0;
		}
		break;
	case SIMCUDA_KIND_GRAPHICS_RESOURCE:
		/* No call returns its size. */
		block.min_bytes = block.max_bytes = 0;
		break;
	case SIMCUDA_KIND_PHYSICAL:
	case SIMCUDA_KIND_IMPORTED_PHYSICAL:
		is_known = expected_physical_block(items, item, &block);
		break;
	case SIMCUDA_KIND_MULTICAST:
		block.device = ANY_DEVICE;
		break;
	case SIMCUDA_KIND_MODULE:
		is_known = !item->object;
		block.min_bytes = 0;
		block.max_bytes = ANY_BYTES;
		break;
	case SIMCUDA_KIND_CONTEXT:
	case SIMCUDA_KIND_GREEN_CONTEXT:
		/* The recorder measures its size, on a device that other threads use too. */
		block.min_bytes = 0;
		block.max_bytes = ANY_BYTES;
		break;
	default:
		break;
	}
	*ret_block = block;
	return block.space && is_known;
}
