/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_MEMORY_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_MEMORY_H

/*
 * The driver memory of a process, ordered by address: blocks of layer cuda, and memory of
 * cuMemCreate at the addresses where it is mapped. In the flow: replay -> memory -> allocator,
 * ooms.
 *
 * PyTorch's expandable segments are large ranges of reserved addresses. PyTorch maps memory into
 * them page by page; a page has 2 MiB or 20 MiB. If one mapping fills a whole range, the range is
 * not an expandable segment. This file treats it as an ordinary segment.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/ordered_map.h"
#include "containers/vec.h"
#include "reader/load/recording.h"

/* Driver memory at one address: a block, or the mapping of one call. */
struct gmt_allocator_segment {
	uint64_t address, size_bytes, stamp;
	uint64_t used_bytes, blocks; /* blocks of layer torch in this segment; 0 for pages */
	uint64_t memory;         /* number of the physical memory that is mapped here; 0: no memory */
	uint64_t change;         /* number of the last change to the fields that a mark keeps */
	/* address of the next entry; UINT64_MAX: no next entry; own address: entry was removed */
	uint64_t next;
	uint32_t site;           /* site of the block */
	/* index of the range of this page, plus 1; 0: this is a segment, not a page */
	uint32_t range_plus_1;
	uint32_t next_free_plus_1;
	int16_t device;
	bool is_segment; /* this is PyTorch's segment; for pages, see is_pytorch of the range */
	/* its memory was unmapped while it had blocks; it may be mapped again */
	bool is_unmapped_in_use;
};

/* Reserved addresses into which the program maps memory page by page. */
struct gmt_allocator_range {
	uint64_t address, size_bytes;
	uint64_t mapped_bytes;
	uint64_t page_bytes; /* size of the first page; all pages of PyTorch have the same size */
	uint64_t change; /* number of the change that marked the range as PyTorch's */
	bool is_pytorch; /* a block of layer torch lay in the range */
};

struct gmt_allocator_segments { /* a GMT_VEC */
	struct gmt_allocator_segment *items;
	size_t count, capacity;
};

/* The state of a device's memory at one moment, stored as the difference from the current state. */
struct gmt_allocator_mark {
	uint64_t change; /* number of the last change before the moment */
	/* entries that changed since then, with their old values */
	struct gmt_allocator_segments changed;
	int16_t device;
};

enum { GMT_ALLOCATOR_NEAR = 1024 };

struct gmt_allocator_memory {
	struct gmt_ordered_map addresses; /* first address to index in table */
	/* cache of found entries: index in table, by 2 MiB of addresses; several share an item */
	uint32_t near[GMT_ALLOCATOR_NEAR];
	GMT_VEC(struct gmt_allocator_segment) table;
	uint32_t first_free_plus_1;
	/* first address to index in ranges, while the range is reserved */
	struct gmt_ordered_map range_places;
	GMT_VEC(struct gmt_allocator_range) ranges;
	uint64_t changes; /* number of changes to the fields that a mark keeps */
	GMT_VEC(struct gmt_allocator_mark) marks; /* one mark per device, if the device has a mark */
};

/*
 * Follows the beginning and the end of reserved addresses. Call it before the event is replayed.
 * Returns false if memory is exhausted.
 */
bool gmt_allocator_memory_observe(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event);

/*
 * Adds a block of layer cuda that has an address. The returned entry is valid until the next entry
 * is added. Returns NULL if memory is exhausted.
 */
struct gmt_allocator_segment *gmt_allocator_memory_add(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event, int16_t device, uint32_t site);

/*
 * Adds the mapping of physical memory `number` by `event`. The event's device is the memory's
 * device. Returns NULL if memory is exhausted.
 */
struct gmt_allocator_segment *gmt_allocator_memory_map(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event, uint64_t number);

/* Returns the entry that begins at this address, or NULL. */
struct gmt_allocator_segment *gmt_allocator_memory_at(const struct gmt_allocator_memory *memory,
	uint64_t address);

/* Returns the last mapping that begins in the `size_bytes` from `address`, or NULL. */
struct gmt_allocator_segment *gmt_allocator_memory_mapped_in(
	const struct gmt_allocator_memory *memory, uint64_t address, uint64_t size_bytes);

/*
 * Returns the entry that holds all these bytes on this device, or NULL. The entry is a segment, or
 * the page in which the bytes begin if they end in a page of the same range.
 */
struct gmt_allocator_segment *gmt_allocator_memory_find(struct gmt_allocator_memory *memory,
	int16_t device, uint64_t address, uint64_t size_bytes);

/* Returns the range of a page, or NULL if `segment` is not a page. */
struct gmt_allocator_range *gmt_allocator_memory_range(const struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment);

/* Returns whether `before`, which may be NULL, and `segment` are adjacent pages of one range. */
bool gmt_allocator_memory_continues(const struct gmt_allocator_segment *before,
	const struct gmt_allocator_segment *segment);

/*
 * Removes an entry. Returns false if memory is exhausted, which can happen only while a device has
 * a mark.
 */
bool gmt_allocator_memory_remove(struct gmt_allocator_memory *memory,
	struct gmt_allocator_segment *segment);

/* Notes that a block of layer torch lay in the range. */
void gmt_allocator_memory_note_range(struct gmt_allocator_memory *memory,
	struct gmt_allocator_range *range);

/*
 * Call it before the entry's is_segment or memory changes. Returns false if memory is exhausted,
 * which can happen only while a device has a mark.
 */
bool gmt_allocator_memory_touch(struct gmt_allocator_memory *memory,
	struct gmt_allocator_segment *segment);

/*
 * Stores the current state of the device's memory as its mark, and drops the device's previous
 * mark. Returns false if memory is exhausted.
 */
bool gmt_allocator_memory_mark(struct gmt_allocator_memory *memory, int16_t device);

/*
 * Lists the segments and pages that are PyTorch's on a device, by address: the current ones, or
 * those at the device's mark. With `at_mark`, the device has a mark. Returns false if memory is
 * exhausted. `ret_segments` (zeroed) belongs to the caller.
 */
bool gmt_allocator_memory_list(const struct gmt_allocator_memory *memory, int16_t device,
	bool at_mark, struct gmt_allocator_segments *ret_segments);

/*
 * Return whether PyTorch could use the event's memory: it has an address, or the program can map
 * it.
 */
bool gmt_allocator_memory_has_address(const struct gmt_recording_event *event);
bool gmt_allocator_memory_is_mappable(const struct gmt_recording_event *event);

void gmt_allocator_memory_fini(struct gmt_allocator_memory *memory);

#endif
