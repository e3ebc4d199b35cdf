/* SPDX-License-Identifier: MIT */
#include "analysis/segments.h"

#include <stdlib.h>

#include "wire/format.h"

struct span {
	uint64_t address, size_bytes;
	uint32_t site;
};

/* What is summed up while the segments are walked through. */
struct walk {
	struct gmt_segments *segments;
	const struct gmt_replay *replay;
	const struct gmt_traces *traces;
	GMT_VEC(struct span) blocks; /* of layer torch on the device, by address */
	size_t next;                 /* the first that is not below the segment */
	struct gmt_map pin_ids;      /* place of the own line to index in pins */
	struct gmt_map other_ids;    /* likewise in others, with the space */
	GMT_VEC(uint32_t) own_lines; /* by stack: index + 1; 0: not asked yet */
};

static int by_address(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static bool collect_blocks(struct walk *walk)
{
	const struct gmt_books *books = &walk->replay->books;
	struct gmt_books_place place;
	size_t cursor = 0;

	while (gmt_books_next_block(books, GMT_LAYER_TORCH, &cursor, &place)) {
		uint32_t account = books->sites.items[place.block.site].account;
		struct span *span;

		if (books->accounts.items[account].device != walk->segments->device)
			continue;
		if (!(span = gmt_vec_push(&walk->blocks)))
			return false;
		*span = (struct span){ place.address, place.block.size_bytes, place.block.site };
	}
	if (walk->blocks.count)
		qsort(walk->blocks.items, walk->blocks.count, sizeof(*walk->blocks.items), by_address);
	return true;
}

static void note_hole(struct gmt_segments *segments, uint64_t bytes)
{
	size_t class = 0;

	if (!bytes)
		return;
	while (bytes >= segments->holes[class].below_bytes)
		class++;
	segments->holes[class].bytes += bytes;
	segments->holes[class].holes++;
	segments->hole_bytes += bytes;
	if (bytes > segments->largest_hole_bytes)
		segments->largest_hole_bytes = bytes;
}

/* The stack of a site, its own line, and the number by which lines are told apart. */
static uint64_t line_of(struct walk *walk, uint32_t site, uint32_t *ret_stack, uint32_t *ret_own_line)
{
	uint32_t count, *known;
	const uint32_t *places;

	*ret_stack = walk->replay->site_stacks.items[site];
	known = &walk->own_lines.items[*ret_stack];
	if (!*known)
		*known = gmt_traces_own_line(walk->traces, *ret_stack) + 1;
	*ret_own_line = *known - 1;
	places = gmt_traces_stack(walk->traces, *ret_stack, &count);
	return count ? places[*ret_own_line] + UINT64_C(1) : 0;
}

static bool note_pin(struct walk *walk, const struct gmt_allocator_segment *segment,
	const struct span *largest, uint64_t used_bytes)
{
	struct gmt_segments *segments = walk->segments;
	struct gmt_segments_pin pin = { 0 };
	uint64_t line = line_of(walk, largest->site, &pin.stack, &pin.own_line), index;

	segments->pinned_segments++;
	segments->pinned_bytes += segment->size_bytes;
	if (!gmt_map_find(&walk->pin_ids, line, &index)) {
		struct gmt_segments_pin *row = gmt_vec_push(&segments->pins);

		index = segments->pins.count - 1;
		if (!row || !gmt_map_put(&walk->pin_ids, line, index))
			return false;
		*row = pin;
	}
	segments->pins.items[index].segments++;
	segments->pins.items[index].free_bytes += segment->size_bytes - used_bytes;
	segments->pins.items[index].block_bytes += used_bytes;
	return true;
}

static bool walk_segment(struct walk *walk, const struct gmt_allocator_segment *segment)
{
	struct gmt_segments *segments = walk->segments;
	const struct span *largest = NULL;
	uint64_t end = segment->address + segment->size_bytes, at = segment->address, used_bytes = 0;

	while (walk->next < walk->blocks.count && walk->blocks.items[walk->next].address < segment->address)
		walk->next++;
	for (; walk->next < walk->blocks.count; walk->next++) {
		const struct span *block = &walk->blocks.items[walk->next];

		/* Blocks that overlap are in damaged recordings only. */
		if (block->address >= end || block->size_bytes > end - block->address)
			break;
		if (block->address < at)
			continue;
		note_hole(segments, block->address - at);
		at = block->address + block->size_bytes;
		used_bytes += block->size_bytes;
		segments->blocks++;
		if (!largest || block->size_bytes > largest->size_bytes)
			largest = block;
	}
	segments->segments++;
	segments->reserved_bytes += segment->size_bytes;
	segments->allocated_bytes += used_bytes;
	if (!largest) {
		segments->empty_segments++;
		segments->empty_bytes += segment->size_bytes;
		if (segment->size_bytes > segments->largest_hole_bytes)
			segments->largest_hole_bytes = segment->size_bytes;
		return true;
	}
	note_hole(segments, end - at);
	return used_bytes >= segment->size_bytes / 10 * GMT_PINNED_TENTHS ||
		note_pin(walk, segment, largest, used_bytes);
}

static bool note_other(struct walk *walk, const struct gmt_allocator_segment *block)
{
	struct gmt_segments *segments = walk->segments;
	const struct gmt_books *books = &walk->replay->books;
	struct gmt_segments_other other = {
		.space = books->spaces.items[books->sites.items[block->site].space].space,
	};
	uint64_t key = line_of(walk, block->site, &other.stack, &other.own_line) << 8 | other.space, index;

	if (!gmt_map_find(&walk->other_ids, key, &index)) {
		struct gmt_segments_other *row = gmt_vec_push(&segments->others);

		index = segments->others.count - 1;
		if (!row || !gmt_map_put(&walk->other_ids, key, index))
			return false;
		*row = other;
	}
	segments->others.items[index].bytes += block->size_bytes;
	segments->others.items[index].blocks++;
	return true;
}

static bool walk_all(struct walk *walk, const struct gmt_allocator *allocator)
{
	for (size_t p = 0; p < allocator->segments.pages.count; p++) {
		const struct gmt_ordered_page *page = &allocator->segments.pages.items[p];

		for (size_t i = 0; i < page->count; i++) {
			const struct gmt_allocator_segment *block =
				&allocator->table.items[page->entries[i].value];

			if (allocator->devices.items[block->device].device != walk->segments->device)
				continue;
			walk->segments->driver_bytes += block->size_bytes;
			walk->segments->driver_blocks++;
			if (!(block->is_segment ? walk_segment(walk, block) : note_other(walk, block)))
				return false;
		}
	}
	return true;
}

static int by_free_bytes(const void *left, const void *right)
{
	const struct gmt_segments_pin *a = left, *b = right;

	if (a->free_bytes != b->free_bytes)
		return a->free_bytes > b->free_bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int by_bytes(const void *left, const void *right)
{
	const struct gmt_segments_other *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void conclude(struct walk *walk)
{
	struct gmt_segments *segments = walk->segments;
	uint64_t live_bytes = 0;

	for (size_t i = 0; i < walk->blocks.count; i++)
		live_bytes += walk->blocks.items[i].size_bytes;
	segments->outside_blocks = walk->blocks.count - segments->blocks;
	segments->outside_bytes = live_bytes - segments->allocated_bytes;
	/* Divided first: sizes may be near 2^62. */
	segments->fragmented = segments->allocated_bytes &&
		segments->reserved_bytes / GMT_FRAGMENTED_PERCENT > segments->allocated_bytes / 100;
	if (segments->pins.count)
		qsort(segments->pins.items, segments->pins.count, sizeof(*segments->pins.items), by_free_bytes);
	if (segments->others.count)
		qsort(segments->others.items, segments->others.count, sizeof(*segments->others.items), by_bytes);
}

bool gmt_segments_init(struct gmt_segments *ret_segments, const struct gmt_allocator *allocator,
	const struct gmt_replay *replay, const struct gmt_traces *traces, int16_t device)
{
	static const uint64_t bounds[GMT_HOLE_CLASSES] = {
		UINT64_C(64) << 10, UINT64_C(1) << 20, UINT64_C(10) << 20, UINT64_C(100) << 20,
		UINT64_C(1) << 30, UINT64_MAX,
	};
	struct walk walk = { .segments = ret_segments, .replay = replay, .traces = traces };
	bool done;

	ret_segments->device = device;
	for (size_t i = 0; i < GMT_HOLE_CLASSES; i++)
		ret_segments->holes[i].below_bytes = bounds[i];
	/* Zeroed; indexed by stack, never pushed to. */
	done = gmt_vec_reserve(&walk.own_lines, traces->stacks.entries.count + 1) &&
		collect_blocks(&walk) && walk_all(&walk, allocator);
	if (done)
		conclude(&walk);
	else
		gmt_segments_fini(ret_segments);
	gmt_vec_fini(&walk.blocks);
	gmt_vec_fini(&walk.own_lines);
	gmt_map_fini(&walk.pin_ids);
	gmt_map_fini(&walk.other_ids);
	return done;
}

void gmt_segments_fini(struct gmt_segments *segments)
{
	gmt_vec_fini(&segments->pins);
	gmt_vec_fini(&segments->others);
}

const char *gmt_segments_moment_name(enum gmt_segments_moment moment)
{
	return moment == GMT_SEGMENTS_AT_PEAK ? "peak" : "end";
}
