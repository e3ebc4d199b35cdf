/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_MEMORY_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_MEMORY_H

/*
 * What a process has from the driver, by address: blocks of layer cuda, and memory of cuMemCreate where it
 * is mapped. In the flow: replay -> memory -> allocator, ooms.
 *
 * PyTorch's expandable segments are large ranges of reserved addresses, into which it maps memory page by
 * page, 2 MiB or 20 MiB each. A range that one mapping fills is no such thing: whoever made it uses it like a
 * block, and so it is one here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/ordered.h"
#include "containers/vec.h"
#include "reader/load/snapshot.h"

/* Memory from the driver at one address: a block, or what one call has mapped. */
struct gmt_allocator_segment {
	uint64_t address, size_bytes, stamp;
	uint64_t used_bytes, blocks; /* of layer torch, in it; not of pages */
	uint64_t memory;         /* number of the physical memory that is mapped there; 0: none */
	uint64_t change;         /* number of the change that made it as it is, in what a mark keeps */
	uint64_t next;           /* address of what begins behind it, UINT64_MAX: nothing; its own: it has lost its place */
	uint32_t site;           /* of a block */
	uint32_t range_plus_1;   /* it is a page of this range; 0: it is a segment by itself */
	uint32_t next_free_plus_1;
	int16_t device;
	bool is_segment;         /* PyTorch's; of pages the range says so */
	bool is_asleep;          /* its memory was taken away from under its blocks; it may come back */
};

/* Reserved addresses that memory is mapped into page by page. */
struct gmt_allocator_range {
	uint64_t address, size_bytes;
	uint64_t mapped_bytes;
	uint64_t page_bytes; /* of the first page; PyTorch's are all alike */
	uint64_t change;     /* number of the change that made it PyTorch's */
	bool is_pytorch;     /* a block of layer torch lay in it */
};

struct gmt_allocator_segments { /* a GMT_VEC */
	struct gmt_allocator_segment *items;
	size_t count, capacity;
};

/* How the memory of a device was at one moment: as it is now, but for what has changed since. */
struct gmt_allocator_mark {
	uint64_t change; /* number of the last one before it */
	struct gmt_allocator_segments changed; /* as they were */
	int16_t device;
};

enum { GMT_ALLOCATOR_NEAR = 1024 };

struct gmt_allocator_memory {
	struct gmt_ordered places; /* first address to index in table */
	uint32_t near[GMT_ALLOCATOR_NEAR]; /* found last, index in table, by 2 MiB of addresses, of which several share one */
	GMT_VEC(struct gmt_allocator_segment) table;
	uint32_t first_free_plus_1;
	struct gmt_ordered range_places; /* first address to index in ranges, while reserved */
	GMT_VEC(struct gmt_allocator_range) ranges;
	uint64_t changes; /* of entries, in what a mark keeps */
	GMT_VEC(struct gmt_allocator_mark) marks; /* one for each device that has one */
};

/* Before an event is played: reserved addresses begin and end. False when out of memory. */
bool gmt_allocator_memory_see(struct gmt_allocator_memory *memory, const struct gmt_snapshot_event *event);

/*
 * A block of layer cuda that has an address. Entries are good until the next one is made; NULL: out of memory.
 */
struct gmt_allocator_segment *gmt_allocator_memory_add(struct gmt_allocator_memory *memory,
	const struct gmt_snapshot_event *event, int16_t device, uint32_t site);

/* Memory `number` was mapped by `event`, whose device is the memory's. NULL: out of memory. */
struct gmt_allocator_segment *gmt_allocator_memory_map(struct gmt_allocator_memory *memory,
	const struct gmt_snapshot_event *event, uint64_t number);

/* What begins at this address; NULL: nothing. */
struct gmt_allocator_segment *gmt_allocator_memory_at(const struct gmt_allocator_memory *memory, uint64_t address);

/* The last mapping that begins in `size_bytes` from `address`; NULL: none does. */
struct gmt_allocator_segment *gmt_allocator_memory_mapped_in(const struct gmt_allocator_memory *memory,
	uint64_t address, uint64_t size_bytes);

/*
 * What holds all of these bytes on this device: a segment, or the page that they begin in, of a range in which
 * they end too. NULL: nothing.
 */
struct gmt_allocator_segment *gmt_allocator_memory_find(struct gmt_allocator_memory *memory, int16_t device,
	uint64_t address, uint64_t size_bytes);

/* The range of a page; NULL: it is none. */
struct gmt_allocator_range *gmt_allocator_memory_range(const struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment);

/* Whether `segment` goes on where `before`, which may be NULL, ends: pages of one range, side by side. */
bool gmt_allocator_memory_goes_on(const struct gmt_allocator_segment *before,
	const struct gmt_allocator_segment *segment);

/* Takes an entry out. False when out of memory, which is never without marks. */
bool gmt_allocator_memory_remove(struct gmt_allocator_memory *memory, struct gmt_allocator_segment *segment);

/* A block of layer torch lay in the range. */
void gmt_allocator_memory_know_range(struct gmt_allocator_memory *memory, struct gmt_allocator_range *range);

/* Before the entry's is_segment or memory changes. False when out of memory, which is never without marks. */
bool gmt_allocator_memory_touch(struct gmt_allocator_memory *memory, struct gmt_allocator_segment *segment);

/* Remembers how the device's memory is now, instead of what was remembered of it before. False when out of memory. */
bool gmt_allocator_memory_mark(struct gmt_allocator_memory *memory, int16_t device);

/*
 * What is PyTorch's on a device now, or was at the mark, which there is; in the order of addresses. False when out of
 * memory. `ret_segments` (zeroed) is the caller's.
 */
bool gmt_allocator_memory_list(const struct gmt_allocator_memory *memory, int16_t device, bool at_mark,
	struct gmt_allocator_segments *ret_segments);

/* Whether PyTorch could have it from the driver: what has an address, and memory that can be mapped. */
bool gmt_allocator_memory_has_address(const struct gmt_snapshot_event *event);
bool gmt_allocator_memory_is_mappable(const struct gmt_snapshot_event *event);

void gmt_allocator_memory_fini(struct gmt_allocator_memory *memory);

#endif
