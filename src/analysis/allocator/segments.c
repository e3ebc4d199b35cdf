/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/segments.h"

#include <stdlib.h>

#include "containers/bisect.h"
#include "format/format.h"

struct span {
	uint64_t address, size_bytes;
	uint32_t site;
};

/* Working data while the segments are walked through. */
struct walk {
	struct gmt_segments *segments;
	const struct gmt_replay *replay;
	const struct gmt_traces *traces;
	const struct gmt_mark_spans *captures; /* NULL: none */
	GMT_VEC(struct span) blocks; /* blocks of layer torch on the device, by address */
	size_t next; /* index of the first block that does not lie below the current segment */
	struct gmt_map pin_ids;      /* place of the own line to index in pins */
	struct gmt_map other_ids;    /* place of the own line, owner and space to index in others */
	struct gmt_map mapped;       /* numbers of the physical memory that is PyTorch's */
	GMT_VEC(uint32_t) own_lines; /* by stack: index of its own line + 1; 0: not yet looked up */
};

static bool collect_blocks(struct walk *walk, const struct gmt_peaks_blocks *blocks)
{
	if (!gmt_vec_reserve(&walk->blocks, blocks->count))
		return false;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct gmt_addressed_block *addressed = &blocks->items[i].addressed;

		*gmt_vec_push(&walk->blocks) =
			(struct span){ addressed->address, addressed->block.size_bytes, addressed->block.site };
	}
	return true;
}

static void note_gap(struct gmt_segments *segments, uint64_t bytes)
{
	if (bytes > segments->largest_hole_bytes)
		segments->largest_hole_bytes = bytes;
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
}

/*
 * Returns a number that identifies the own line of a site. Stores the site's stack and the line's
 * index in it.
 */
static uint64_t line_of(struct walk *walk, uint32_t site, uint32_t *ret_stack,
	uint32_t *ret_own_line)
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

/*
 * Counts the segment if it belongs to a CUDA graph: a graph's private pool gets its segments during
 * the graph's capture.
 */
static void note_graph(struct walk *walk, const struct gmt_allocator_segment *segment,
	uint64_t used_bytes)
{
	if (!walk->captures || !gmt_mark_spans_have(walk->captures, segment->stamp))
		return;
	walk->segments->graph_segments++;
	walk->segments->graph_bytes += segment->size_bytes;
	walk->segments->graph_free_bytes += segment->size_bytes - used_bytes;
}

/* Records a segment or page of this size in which blocks fill only `used_bytes`. */
static bool note_pin(struct walk *walk, uint64_t size_bytes, const struct span *largest,
	uint64_t used_bytes)
{
	struct gmt_segments *segments = walk->segments;
	struct gmt_segments_pin pin = { 0 };
	uint64_t line = line_of(walk, largest->site, &pin.stack, &pin.own_line), index;

	if (used_bytes < size_bytes / 10 * GMT_PINNED_TENTHS) {
		segments->pinned_segments++;
		segments->pinned_bytes += size_bytes;
	}
	if (!gmt_map_find(&walk->pin_ids, line, &index)) {
		struct gmt_segments_pin *row = gmt_vec_push(&segments->pins);

		index = segments->pins.count - 1;
		if (!row || !gmt_map_put(&walk->pin_ids, line, index))
			return false;
		*row = pin;
	}
	segments->pins.items[index].segments++;
	segments->pins.items[index].free_bytes += size_bytes - used_bytes;
	segments->pins.items[index].block_bytes += used_bytes;
	return true;
}

/*
 * Returns the number of blocks in [start, end). They are adjacent in walk->blocks, and the first is
 * *ret_first. Blocks overlap only in damaged recordings; an overlapping block belongs to no
 * segment.
 */
static size_t blocks_in(struct walk *walk, uint64_t start, uint64_t end,
	const struct span **ret_first)
{
	uint64_t at = start;
	size_t first;

	while (walk->next < walk->blocks.count && walk->blocks.items[walk->next].address < start)
		walk->next++;
	first = walk->next;
	for (; walk->next < walk->blocks.count; walk->next++) {
		const struct span *block = &walk->blocks.items[walk->next];

		if (block->address < at || block->address >= end ||
			block->size_bytes > end - block->address)
			break;
		at = block->address + block->size_bytes;
		walk->segments->allocated_bytes += block->size_bytes;
	}
	*ret_first = gmt_vec_at(&walk->blocks, first);
	walk->segments->blocks += walk->next - first;
	return walk->next - first;
}

/* Adds the row of a segment, with its `count` blocks. */
static bool add_row(struct gmt_segments *segments, struct gmt_segments_row row,
	const struct span *blocks, size_t count)
{
	struct gmt_segments_row *slot = gmt_vec_push(&segments->rows);

	for (size_t i = 0; i < count; i++)
		row.used_bytes += blocks[i].size_bytes;
	row.blocks = count;
	if (slot)
		*slot = row;
	return slot;
}

static bool walk_segment(struct walk *walk, const struct gmt_allocator_segment *segment)
{
	struct gmt_segments *segments = walk->segments;
	const struct span *blocks, *largest;
	uint64_t end = segment->address + segment->size_bytes, at = segment->address, used_bytes = 0;
	size_t count = blocks_in(walk, at, end, &blocks);

	segments->segments++;
	segments->reserved_bytes += segment->size_bytes;
	if (!add_row(segments,
			(struct gmt_segments_row){ .address = segment->address,
				.size_bytes = segment->size_bytes,
				.stamp = segment->stamp },
			blocks, count))
		return false;
	if (!count) {
		note_graph(walk, segment, 0);
		segments->empty_segments++;
		segments->empty_bytes += segment->size_bytes;
		note_gap(segments, segment->size_bytes);
		return true;
	}
	largest = blocks;
	for (size_t i = 0; i < count; i++) {
		note_gap(segments, blocks[i].address - at);
		note_hole(segments, blocks[i].address - at);
		at = blocks[i].address + blocks[i].size_bytes;
		used_bytes += blocks[i].size_bytes;
		if (blocks[i].size_bytes > largest->size_bytes)
			largest = &blocks[i];
	}
	note_gap(segments, end - at);
	note_hole(segments, end - at);
	note_graph(walk, segment, used_bytes);
	return used_bytes >= segment->size_bytes / 10 * GMT_PIN_NAMED_TENTHS ||
		note_pin(walk, segment->size_bytes, largest, used_bytes);
}

/* Returns how many bytes of the block lie in [start, end). */
static uint64_t part_of(const struct span *block, uint64_t start, uint64_t end)
{
	uint64_t from = block->address > start ? block->address : start;
	uint64_t block_end = block->address + block->size_bytes, to = block_end < end ? block_end : end;

	return to > from ? to - from : 0;
}

/*
 * Walks one of several adjacent pages. *blocks are the first of `count` blocks that may lie in it.
 * Skips the blocks that end in it. Free memory is a hole, unless the whole page is free.
 */
static bool walk_page(struct walk *walk, const struct gmt_allocator_segment *page,
	const struct span **blocks, size_t *count)
{
	struct gmt_segments *segments = walk->segments;
	uint64_t start = page->address, end = start + page->size_bytes, at = start, used_bytes = 0,
			 max_bytes = 0;
	const struct span *largest = NULL;

	for (; *count && (*blocks)->address < end; ++*blocks, --*count) {
		uint64_t part = part_of(*blocks, start, end);

		if ((*blocks)->address > at)
			note_hole(segments, (*blocks)->address - at);
		at = (*blocks)->address + (*blocks)->size_bytes;
		used_bytes += part;
		if (!largest || part > max_bytes) {
			largest = *blocks;
			max_bytes = part;
		}
		if (at > end)
			break;
	}
	note_graph(walk, page, used_bytes);
	if (!largest) {
		segments->empty_segments++;
		segments->empty_bytes += page->size_bytes;
		return true;
	}
	if (at < end)
		note_hole(segments, end - at);
	return used_bytes >= page->size_bytes / 10 * GMT_PIN_NAMED_TENTHS ||
		note_pin(walk, page->size_bytes, largest, used_bytes);
}

static bool walk_pages(struct walk *walk, const struct gmt_allocator_segment *const *pages,
	size_t page_count)
{
	struct gmt_segments *segments = walk->segments;
	const struct span *blocks;
	uint64_t at = pages[0]->address,
			 end = pages[page_count - 1]->address + pages[page_count - 1]->size_bytes;
	size_t count = blocks_in(walk, at, end, &blocks);

	segments->segments++;
	segments->reserved_bytes += end - at;
	if (!add_row(segments,
			(struct gmt_segments_row){ .address = at,
				.size_bytes = end - at,
				.stamp = pages[0]->stamp,
				.is_expandable = true },
			blocks, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		note_gap(segments, blocks[i].address - at);
		at = blocks[i].address + blocks[i].size_bytes;
	}
	note_gap(segments, end - at);
	for (size_t i = 0; i < page_count; i++)
		if (!walk_page(walk, pages[i], &blocks, &count))
			return false;
	return true;
}

static bool note_other(struct walk *walk, const struct gmt_account_block *block)
{
	struct gmt_segments *segments = walk->segments;
	const struct gmt_accounting *accounting = &walk->replay->accounting;
	struct gmt_segments_other other = {
		.space = accounting->spaces.items[accounting->sites.items[block->site].space].space,
	};
	uint64_t line = line_of(walk, block->site, &other.stack, &other.own_line), key, index;

	/* One line may call several libraries, so the owner is part of the key. */
	key = line << 32 |
		gmt_owners_find(&walk->traces->owners, other.stack, GMT_LAYER_CUDA, segments->device) << 8 |
		other.space;
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

/* Walks PyTorch's segments and pages, in the order of their addresses. */
static bool walk_all(struct walk *walk, const struct gmt_allocator_segments *segments)
{
	GMT_VEC(const struct gmt_allocator_segment *) run = { 0 };
	bool done = true;

	for (size_t i = 0; i < segments->count && done; i++) {
		const struct gmt_allocator_segment *segment = &segments->items[i], **slot;

		if (run.count && !gmt_allocator_memory_continues(run.items[run.count - 1], segment)) {
			done = walk_pages(walk, run.items, run.count);
			run.count = 0;
		}
		if (segment->memory)
			done = done && gmt_map_put(&walk->mapped, segment->memory, 1);
		if (!segment->range_plus_1) {
			done = done && walk_segment(walk, segment);
			continue;
		}
		slot = gmt_vec_push(&run);
		if (slot)
			*slot = segment;
		done = done && slot;
	}
	done = done && (!run.count || walk_pages(walk, run.items, run.count));
	gmt_vec_fini(&run);
	return done;
}

/* Returns the index of the first segment that begins at or above the address. */
static size_t find_segment(const struct gmt_allocator_segments *segments, uint64_t address)
{
	return GMT_BISECT(at, segments->count, segments->items[at].address < address);
}

/*
 * Returns whether a block of layer cuda is a segment of PyTorch, or memory that is mapped in a
 * segment.
 */
static bool is_in_segments(const struct walk *walk, const struct gmt_allocator_segments *segments,
	const struct gmt_addressed_block *addressed)
{
	const struct gmt_accounting *accounting = &walk->replay->accounting;
	uint32_t space =
		accounting->spaces.items[accounting->sites.items[addressed->block.site].space].space;
	uint64_t unused;
	size_t at;

	if (space == GMT_SPACE_VMM)
		return gmt_map_find(&walk->mapped, addressed->address, &unused);
	if (gmt_space_realm(space) != GMT_REALM_ADDRESS)
		return false;
	at = find_segment(segments, addressed->address);
	return at < segments->count && segments->items[at].address == addressed->address &&
		segments->items[at].is_segment;
}

/* Sums up all driver memory, and lists the part that is not PyTorch's. */
static bool walk_others(struct walk *walk, const struct gmt_segments_input *input)
{
	for (size_t i = 0; i < input->driver.count; i++) {
		const struct gmt_addressed_block *addressed = &input->driver.items[i].addressed;

		walk->segments->driver_bytes += addressed->block.size_bytes;
		walk->segments->driver_blocks++;
		if (!is_in_segments(walk, &input->segments, addressed) &&
			!note_other(walk, &addressed->block))
			return false;
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
	/* Divide first, so that sizes near 2^62 do not overflow. */
	segments->fragmented = segments->allocated_bytes &&
		segments->reserved_bytes > segments->allocated_bytes + GMT_FRAGMENTED_BYTES &&
		segments->reserved_bytes / GMT_FRAGMENTED_PERCENT > segments->allocated_bytes / 100;
	if (segments->pins.count)
		qsort(segments->pins.items, segments->pins.count, sizeof(*segments->pins.items),
			by_free_bytes);
	if (segments->others.count)
		qsort(segments->others.items, segments->others.count, sizeof(*segments->others.items),
			by_bytes);
}

bool gmt_segments_compute(struct gmt_segments *ret_segments, const struct gmt_segments_input *input,
	const struct gmt_replay *replay, const struct gmt_traces *traces, int16_t device)
{
	static const uint64_t bounds[GMT_HOLE_CLASSES] = {
		UINT64_C(64) << 10,
		UINT64_C(1) << 20,
		UINT64_C(10) << 20,
		UINT64_C(100) << 20,
		UINT64_C(1) << 30,
		UINT64_MAX,
	};
	struct walk walk = {
		.segments = ret_segments, .replay = replay, .traces = traces, .captures = input->captures
	};
	bool done;

	ret_segments->device = device;
	for (size_t i = 0; i < GMT_HOLE_CLASSES; i++)
		ret_segments->holes[i].below_bytes = bounds[i];
	/* gmt_vec_reserve returns zeroed items. They are indexed by stack and never pushed. */
	done = gmt_vec_reserve(&walk.own_lines, traces->stacks.entries.count + 1) &&
		collect_blocks(&walk, &input->blocks) && walk_all(&walk, &input->segments) &&
		walk_others(&walk, input);
	if (done)
		conclude(&walk);
	else
		gmt_segments_fini(ret_segments);
	gmt_vec_fini(&walk.blocks);
	gmt_vec_fini(&walk.own_lines);
	gmt_map_fini(&walk.pin_ids);
	gmt_map_fini(&walk.other_ids);
	gmt_map_fini(&walk.mapped);
	return done;
}

void gmt_segments_input_fini(struct gmt_segments_input *input)
{
	gmt_vec_fini(&input->blocks);
	gmt_vec_fini(&input->driver);
	gmt_vec_fini(&input->segments);
}

void gmt_segments_fini(struct gmt_segments *segments)
{
	gmt_vec_fini(&segments->rows);
	gmt_vec_fini(&segments->pins);
	gmt_vec_fini(&segments->others);
}

const char *gmt_segments_moment_name(enum gmt_segments_moment moment)
{
	return moment == GMT_SEGMENTS_AT_PEAK ? "peak" : "end";
}
