/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_PHYSICAL_MEMORY_H
#define GMT_ACCOUNTING_PHYSICAL_MEMORY_H

/*
 * Physical memory behind handles (cuMemCreate and related calls): which handle stands for which
 * memory, and how many references and mappings keep the memory alive. In the flow: events ->
 * physical memory -> accounting. In the accounting each piece of memory is one block, and the
 * block's `address` is the memory's number from this file.
 *
 * The driver forgets a handle when its last reference is released. It may then give the same value
 * to other memory, while mappings still keep the older memory alive. Therefore memory has its own
 * numbers here. No threads, no I/O.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intervals.h"
#include "containers/map.h"
#include "containers/vec.h"

#define GMT_PHYSICAL_NONE UINT32_MAX

struct gmt_physical_memory {
	/*
	 * valid while `references` is not 0; in an unused entry: index of the next unused entry, plus 1
	 */
	uint64_t handle;
	uint64_t size_bytes; /* 0: not known yet */
	uint32_t references;
	uint32_t mappings;   /* mappings and multicast bindings */
	int16_t device;      /* device that owns the memory */
	uint8_t layer, space;
};

struct gmt_physical_mapping {
	uint64_t size_bytes;
	uint32_t memory;
	uint32_t next_free_plus_1; /* in an unused entry: index of the next unused entry, plus 1 */
};

struct gmt_physical {
	/* indexed by number - 1; a number is reused only after gmt_physical_free_number */
	GMT_VEC(struct gmt_physical_memory) memory;
	uint32_t free_memory_plus_1;
	GMT_VEC(struct gmt_physical_mapping) mappings;
	uint32_t free_mapping_plus_1;
	struct gmt_map handles;  /* maps a handle to an index in memory */
	/* maps a first address, or a key in a multicast object, to an index in mappings */
	struct gmt_map mapped;
	struct gmt_intervals ranges; /* the same mappings, ordered by address */
	/* calls with a handle that no recorded call made: events are missing */
	uint64_t unknown_handles;
};

/* Returns the number that the memory has in the accounting. */
static inline uint64_t gmt_physical_number(uint32_t memory)
{
	return (uint64_t)memory + 1;
}

/*
 * Adds memory with one reference. `handle` stands for this memory from now on. Returns its index,
 * or GMT_PHYSICAL_NONE when out of memory.
 */
uint32_t gmt_physical_create(struct gmt_physical *physical, uint64_t handle,
	const struct gmt_physical_memory *physical_memory);

/* Returns the memory that a handle stands for, or GMT_PHYSICAL_NONE if the handle is unknown. */
uint32_t gmt_physical_find(const struct gmt_physical *physical, uint64_t handle);

/*
 * Returns the memory that is mapped at an address, which may lie inside a mapping. Returns
 * GMT_PHYSICAL_NONE if no memory is mapped there.
 */
uint32_t gmt_physical_find_mapped(const struct gmt_physical *physical, uint64_t address);

/*
 * Adds a reference. From now on, `handle` is the handle of memory number `index`. Returns false
 * when out of memory.
 */
bool gmt_physical_retain(struct gmt_physical *physical, uint32_t index, uint64_t handle);

/*
 * Removes one reference from the memory that `handle` stands for. Returns the memory if nothing
 * keeps it alive any more, else GMT_PHYSICAL_NONE.
 */
uint32_t gmt_physical_release(struct gmt_physical *physical, uint64_t handle);

/*
 * Makes the number of ended memory available again. The caller must not use that number afterwards.
 */
void gmt_physical_free_number(struct gmt_physical *physical, uint32_t index);

/* Maps memory at [key, key + size_bytes). Returns false when out of memory. */
bool gmt_physical_map(struct gmt_physical *physical, uint64_t key, uint64_t size_bytes,
	uint32_t memory);

/*
 * Removes the next mapping that begins in [*key, end), and moves *key behind it. Returns false if
 * there is no such mapping. *ret_ended is the memory that nothing keeps alive any more, or
 * GMT_PHYSICAL_NONE.
 */
bool gmt_physical_unmap_next(struct gmt_physical *physical, uint64_t *key, uint64_t end,
	uint32_t *ret_ended);

/*
 * Returns the key of an offset in a multicast object. Offsets on one device differ by at least 64
 * KiB.
 */
uint64_t gmt_physical_multicast_key(uint32_t multicast, int16_t device, uint64_t offset);

/* Returns the first key of a multicast object. *ret_end is the key after the last. */
uint64_t gmt_physical_multicast_keys(uint32_t multicast, uint64_t *ret_end);

void gmt_physical_fini(struct gmt_physical *physical);

#endif
