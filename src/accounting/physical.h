/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_PHYSICAL_H
#define GMT_ACCOUNTING_PHYSICAL_H

/*
 * Physical memory behind handles (cuMemCreate and what follows): which handle means which memory, and
 * how many references and mappings keep it alive. In the flow: replay -> physical -> books, where each
 * piece of memory is one block, whose `address` is the number that it has here.
 *
 * The driver forgets a handle when its last reference is released and may give the same value to other
 * memory, while mappings still keep the older one; that is why memory has numbers of its own. No threads,
 * no I/O.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intervals.h"
#include "containers/map.h"
#include "containers/vec.h"

#define GMT_PHYSICAL_NONE UINT32_MAX

struct gmt_physical_memory {
	uint64_t handle;     /* while `references`; of an unused entry: the next unused one, plus 1 */
	uint64_t size_bytes; /* 0: not known yet */
	uint32_t references;
	uint32_t mappings;   /* and multicast bindings */
	int16_t device;      /* whose memory it is */
	uint8_t layer, space;
};

struct gmt_physical_mapping {
	uint64_t size_bytes;
	uint32_t memory;
	uint32_t next_free_plus_1; /* of an unused entry */
};

struct gmt_physical {
	GMT_VEC(struct gmt_physical_memory) memory; /* by number - 1; numbers are not used again unless they are given back */
	uint32_t free_memory_plus_1;
	GMT_VEC(struct gmt_physical_mapping) mappings;
	uint32_t free_mapping_plus_1;
	struct gmt_map handles;  /* handle to index in memory */
	struct gmt_map mapped;   /* first address, or place in a multicast object, to index in mappings */
	struct gmt_intervals ranges; /* the same mappings in order of their addresses */
	uint64_t unknown_handles; /* calls about handles that nothing made: events are missing */
};

/* The number of memory in the books. */
static inline uint64_t gmt_physical_number(uint32_t memory)
{
	return (uint64_t)memory + 1;
}

/* Memory that `handle` now means, with one reference. GMT_PHYSICAL_NONE when out of memory. */
uint32_t gmt_physical_create(struct gmt_physical *physical, uint64_t handle, const struct gmt_physical_memory *about);

/* What a handle means; GMT_PHYSICAL_NONE when nothing is known of it. */
uint32_t gmt_physical_find(const struct gmt_physical *physical, uint64_t handle);

/* What is mapped at an address, also inside a mapping; GMT_PHYSICAL_NONE: nothing. */
uint32_t gmt_physical_find_mapped(const struct gmt_physical *physical, uint64_t address);

/* One more reference, under this handle from now on. False when out of memory. */
bool gmt_physical_retain(struct gmt_physical *physical, uint32_t memory, uint64_t handle);

/*
 * One reference less to what `handle` means. Returns the memory that nothing keeps alive any more, or
 * GMT_PHYSICAL_NONE.
 */
uint32_t gmt_physical_release(struct gmt_physical *physical, uint64_t handle);

/* The number of memory that has ended may be used again: nothing speaks of it any more. */
void gmt_physical_give_back(struct gmt_physical *physical, uint32_t memory);

/* Maps memory at [key, key + size_bytes). False when out of memory. */
bool gmt_physical_map(struct gmt_physical *physical, uint64_t key, uint64_t size_bytes, uint32_t memory);

/*
 * Takes the next mapping out that begins in [*key, end), moving *key behind it; true while there was one.
 * *ret_ended is the memory that nothing keeps alive any more, or GMT_PHYSICAL_NONE.
 */
bool gmt_physical_unmap_next(struct gmt_physical *physical, uint64_t *key, uint64_t end, uint32_t *ret_ended);

/* The key of a place in a multicast object; offsets of one device are apart by 64 KiB at least. */
uint64_t gmt_physical_multicast_key(uint32_t multicast, int16_t device, uint64_t offset);

/* The first key of all places in a multicast object, and the one behind the last. */
uint64_t gmt_physical_multicast_keys(uint32_t multicast, uint64_t *ret_end);

void gmt_physical_fini(struct gmt_physical *physical);

#endif
