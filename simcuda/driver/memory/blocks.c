/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>

/*
 * Returns whether sim_block_new made the block's addresses. If not, they belong to the caller or to
 * a graph node.
 */
static bool owns_addresses(enum sim_space space)
{
	return space != SIM_SPACE_REGISTERED && space != SIM_SPACE_GRAPH;
}

struct sim_block *sim_block_new_at(enum sim_space space, uintptr_t address, size_t size_bytes)
{
	struct sim_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->range.start = address;
	block->range.size_bytes = size_bytes;
	block->space = space;
	block->id = sim_next_id();
	if (!sim_ranges_insert(&sim_driver.blocks, &block->range)) {
		free(block);
		return NULL;
	}
	return block;
}

/*
 * Uses MAP_NORESERVE: a simulated device may be larger than the host if the program writes little
 * of it.
 */
static void *map_memory(uintptr_t wanted_address, size_t size_bytes, int flags)
{
	void *memory = mmap((void *)wanted_address, size_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static struct sim_block *block_new_of(enum sim_space space, void *memory, size_t size_bytes)
{
	struct sim_block *block =
		memory ? sim_block_new_at(space, (uintptr_t)memory, size_bytes) : NULL;

	if (memory && !block)
		munmap(memory, size_bytes);
	return block;
}

/*
 * Maps memory where there is no block. A program may register memory and then give it back to the
 * host without unregistering it. The block of that memory still exists, and the host reuses its
 * addresses.
 */
static void *map_outside_blocks(size_t size_bytes)
{
	void *rejected[16];
	size_t count = 0;
	void *memory = map_memory(0, size_bytes, 0);

	while (memory && sim_ranges_overlap(&sim_driver.blocks, (uintptr_t)memory, size_bytes)) {
		if (count == sizeof(rejected) / sizeof(rejected[0])) {
			munmap(memory, size_bytes);
			memory = NULL;
			break;
		}
		/*
		 * Keeps the rejected memory until a good address is found. Otherwise the host would return
		 * the same address again.
		 */
		rejected[count++] = memory;
		memory = map_memory(0, size_bytes, 0);
	}
	while (count > 0)
		munmap(rejected[--count], size_bytes);
	return memory;
}

/*
 * For a device without memory (SIMCUDA_HOLLOW): free addresses, by size class (powers of two). The
 * address that was freed last is reused first.
 */
static struct addresses {
	uintptr_t *items;
	size_t count;
	size_t capacity;
} free_unbacked[64];

static const uintptr_t first_unbacked = (uintptr_t)1 << 45;

static bool is_unbacked(uintptr_t address)
{
	return sim_driver.is_unbacked && address >= first_unbacked;
}

static unsigned unbacked_class(size_t size_bytes)
{
	unsigned class = 12;

	while (((size_t)1 << class) < size_bytes)
		class++;
	return class;
}

static void *reserve_unbacked(size_t size_bytes)
{
	static uintptr_t used_bytes;
	unsigned class = unbacked_class(size_bytes);

	if (free_unbacked[class].count)
		return (void *)free_unbacked[class].items[--free_unbacked[class].count];
	used_bytes += (uintptr_t)1 << class;
	return (void *)(first_unbacked + used_bytes - ((uintptr_t)1 << class));
}

static void release_unbacked(uintptr_t address, size_t size_bytes)
{
	struct addresses *class = &free_unbacked[unbacked_class(size_bytes)];

	if (class->count == class->capacity) {
		size_t capacity = class->capacity ? 2 * class->capacity : 64;
		uintptr_t *items = realloc(class->items, capacity * sizeof(*items));

		if (!items)
			return; /* the address is lost, but there are many more */
		class->items = items;
		class->capacity = capacity;
	}
	class->items[class->count++] = address;
}

struct sim_block *sim_block_new(enum sim_space space, size_t size_bytes)
{
	if (sim_driver.is_unbacked)
		return sim_block_new_at(space, (uintptr_t)reserve_unbacked(size_bytes), size_bytes);
	return block_new_of(space, map_outside_blocks(size_bytes), size_bytes);
}

struct sim_block *sim_block_new_low(enum sim_space space, size_t size_bytes)
{
	/* Lies above the addresses of a program that is linked to fixed addresses. */
	static const uintptr_t first = 0x20000000, last = 0xffff0000, step = 1 << 20;
	static uintptr_t next = first;
	uintptr_t tries = (last - first) / step;

	while (tries-- > 0) {
		uintptr_t wanted_address = next;
		if (size_bytes > last - first)
			break;
		if (size_bytes > last - wanted_address) {
			next = first;
			continue;
		}
		next += sim_round_up(size_bytes, step);
		if (next >= last)
			next = first;
		void *memory = map_memory(wanted_address, size_bytes, MAP_FIXED_NOREPLACE);
		/* A kernel that does not know the flag treats the address as a hint. */
		if (memory &&
			((uintptr_t)memory != wanted_address ||
				sim_ranges_overlap(&sim_driver.blocks, wanted_address, size_bytes)))
			munmap(memory, size_bytes);
		else if (memory)
			return block_new_of(space, memory, size_bytes);
		/* The address is in use. Tries one step further, not one whole block further. */
		next = wanted_address + step < last ? wanted_address + step : first;
	}
	return NULL;
}

void sim_block_free(struct sim_block *block)
{
	sim_ranges_remove(&sim_driver.blocks, &block->range);
	if (owns_addresses(block->space) && is_unbacked(block->range.start))
		release_unbacked(block->range.start, block->range.size_bytes);
	else if (owns_addresses(block->space))
		munmap((void *)block->range.start, block->range.size_bytes);
	/*
	 * The caller gives a pool block's bytes back to the pool. A graph's block gives its bytes back
	 * to the graphs.
	 */
	if (block->space == SIM_SPACE_GRAPH)
		sim_graph_block_ends(block);
	else if (block->device && !block->pool)
		sim_device_refund(block->device, block->charged_bytes);
	free(block);
}

struct sim_block *sim_block_find(uintptr_t address)
{
	return (struct sim_block *)sim_ranges_find(&sim_driver.blocks, address);
}

struct sim_block *sim_block_find_start(uintptr_t address)
{
	struct sim_block *block = sim_block_find(address);

	return block && block->range.start == address ? block : NULL;
}

void sim_blocks_free_of_context(const struct CUctx_st *context)
{
	/* Goes backwards, so that a removal does not move blocks that are still to be visited. */
	for (size_t i = sim_driver.blocks.count; i-- > 0;) {
		struct sim_block *block = (struct sim_block *)sim_driver.blocks.items[i];
		if (block->context == context)
			sim_block_free(block);
	}
}

static enum simcuda_kind kind_of(enum sim_space space)
{
	switch (space) {
	case SIM_SPACE_DEVICE:
		return SIMCUDA_KIND_DEVICE;
	case SIM_SPACE_MANAGED:
		return SIMCUDA_KIND_MANAGED;
	case SIM_SPACE_PINNED:
		return SIMCUDA_KIND_PINNED;
	case SIM_SPACE_REGISTERED:
		return SIMCUDA_KIND_REGISTERED;
	case SIM_SPACE_POOL:
		return SIMCUDA_KIND_POOL_BLOCK;
	case SIM_SPACE_GRAPH:
		return SIMCUDA_KIND_GRAPH_BLOCK;
	case SIM_SPACE_IPC:
		return SIMCUDA_KIND_IPC;
	case SIM_SPACE_IMPORTED:
		return SIMCUDA_KIND_IMPORTED_BLOCK;
	case SIM_SPACE_GRAPHICS:
		return SIMCUDA_KIND_GRAPHICS_BUFFER;
	case SIM_SPACE_EXTERNAL:
	case SIM_SPACE_VARIABLE: /* listed with its module */
		break;
	}
	return SIMCUDA_KIND_EXTERNAL_BUFFER;
}

void sim_blocks_list(struct sim_list *list)
{
	for (size_t i = 0; i < sim_driver.blocks.count; i++) {
		const struct sim_block *block = (const struct sim_block *)sim_driver.blocks.items[i];
		if (block->space == SIM_SPACE_VARIABLE)
			continue;
		sim_list_add(list,
			(struct simcuda_item){
				.kind = kind_of(block->space),
				.device = sim_ordinal_of(block->device),
				.address = block->range.start,
				.object = block->pool ? (uintptr_t)block->pool : block->owner,
				.context = (uintptr_t)block->context,
				.size_bytes = block->range.size_bytes,
				/* The pool's reserved bytes already include a pool block's bytes. */
				.charged_bytes = block->pool ? 0 : block->charged_bytes,
				.references = block->references,
			});
	}
}
