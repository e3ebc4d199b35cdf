/* SPDX-License-Identifier: MIT */
#include "analysis/oom/oom_moment.h"

#include <stdlib.h>
#include <string.h>

/* If more blocks are live, gaps are not searched. This limits the time that a file can take. */
enum { MAX_BLOCKS = 1 << 19 };

struct range {
	uint64_t start, end;
	bool is_of_graph; /* a segment in a private pool of a CUDA graph */
};

struct ranges {
	GMT_VEC(struct range) items;
};

/*
 * Fills the size of PyTorch's cache: from the totals in the event, else from the last totals that
 * PyTorch reported.
 */
static void fill_cache(struct gmt_oom_row *row, const struct gmt_account *torch,
	const struct gmt_recording_event *event)
{
	struct gmt_recording_totals totals;
	uint64_t allocated;

	if (gmt_recording_totals(event, &totals)) {
		row->has_cache = true;
		row->reserved_bytes = totals.reserved_bytes;
		allocated = totals.allocated_bytes;
	} else if (torch && torch->has_totals) {
		row->has_cache = true;
		row->reserved_bytes = torch->reported_reserved_bytes;
		allocated = torch->reported_allocated_bytes;
	} else {
		return;
	}
	row->cached_bytes = row->reserved_bytes > allocated ? row->reserved_bytes - allocated : 0;
}

/* Inserts a site into the holders, which are sorted by size, largest first. */
static void insert_holder(struct gmt_oom_row *row, uint32_t id, const struct gmt_account_site *site)
{
	uint32_t position = row->holder_count;

	while (position && row->holders[position - 1].bytes < site->live_bytes)
		position--;
	if (position == GMT_OOMS_HOLDERS)
		return;
	if (row->holder_count < GMT_OOMS_HOLDERS)
		row->holder_count++;
	memmove(&row->holders[position + 1], &row->holders[position],
		(row->holder_count - 1 - position) * sizeof(*row->holders));
	row->holders[position] = (struct gmt_oom_holder){ id, site->live_bytes, site->live_blocks };
}

static void fill_holders(struct gmt_oom_row *row, const struct gmt_accounting *accounting,
	const struct gmt_account *account)
{
	row->holders_layer = account->layer;
	row->held_bytes = account->live_bytes;
	for (uint32_t id = 0; id < accounting->sites.count; id++) {
		const struct gmt_account_site *site = &accounting->sites.items[id];

		if (site->live_bytes && &accounting->accounts.items[site->account] == account)
			insert_holder(row, id, site);
	}
}

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Collects the live blocks of one account, by address. Returns false if memory is exhausted. */
static bool collect_blocks(const struct gmt_accounting *accounting,
	const struct gmt_account *account, struct ranges *ret_ranges)
{
	struct gmt_addressed_block addressed;
	size_t cursor = 0;

	while (gmt_accounting_next_block(accounting, account->layer, &cursor, &addressed)) {
		const struct gmt_account_site *site = &accounting->sites.items[addressed.block.site];
		uint64_t size_bytes = addressed.block.size_bytes;

		if (&accounting->accounts.items[site->account] != account ||
			gmt_space_realm(accounting->spaces.items[site->space].space) != GMT_REALM_ADDRESS)
			continue;

		struct range *range = gmt_vec_push(&ret_ranges->items);
		if (!range)
			return false;
		range->start = addressed.address;
		range->end = addressed.address > UINT64_MAX - size_bytes ? UINT64_MAX
																 : addressed.address + size_bytes;
	}
	if (ret_ranges->items.count)
		qsort(ret_ranges->items.items, ret_ranges->items.count, sizeof(struct range), by_start);
	return true;
}

/*
 * The free memory in PyTorch's segments. A segment is driver memory that PyTorch divides into
 * blocks. A gap is a part of a segment without a block, if the segment also has a block.
 */
struct gaps {
	uint64_t largest_bytes;     /* largest gap that the request could use */
	uint64_t usable_bytes;      /* sum of the gaps that the request could use */
	uint64_t graph_bytes;       /* sum of the gaps in private pools of graphs */
	uint64_t graph_empty_bytes; /* segments without a block, in private pools of graphs */
	uint64_t block_bytes;       /* sum of the blocks in segments */
	bool has_block;             /* some segment has a block */
};

static void add_gap(struct gaps *gaps, const struct range *segment, uint64_t bytes, bool in_capture)
{
	gaps->graph_bytes += segment->is_of_graph ? bytes : 0;
	if (segment->is_of_graph != in_capture)
		return;
	gaps->usable_bytes += bytes;
	if (bytes > gaps->largest_bytes)
		gaps->largest_bytes = bytes;
}

/* Finds the gaps between the PyTorch blocks in the driver memory. Both are sorted by address. */
static struct gaps find_gaps(const struct ranges *driver, const struct ranges *torch,
	bool in_capture)
{
	struct gaps gaps = { 0 };
	size_t next = 0;

	for (size_t i = 0; i < driver->items.count; i++) {
		const struct range *segment = &driver->items.items[i];
		uint64_t covered = segment->start;
		bool has_block = false;

		while (next < torch->items.count && torch->items.items[next].start < segment->start)
			next++;
		for (; next < torch->items.count && torch->items.items[next].start < segment->end; next++) {
			const struct range *block = &torch->items.items[next];

			has_block = true;
			gaps.block_bytes += block->end - block->start;
			if (block->start > covered)
				add_gap(&gaps, segment, block->start - covered, in_capture);
			covered = block->end > covered ? block->end : covered;
		}
		gaps.has_block |= has_block;
		if (has_block && segment->end > covered)
			add_gap(&gaps, segment, segment->end - covered, in_capture);
		if (!has_block && segment->is_of_graph)
			gaps.graph_empty_bytes += segment->end - segment->start;
	}
	return gaps;
}

/*
 * Collects the driver memory of a device, by address. Adjacent pages become one range. Returns
 * false if memory is exhausted.
 */
static bool collect_segments(const struct gmt_ooms *ooms, int16_t device, struct ranges *ret_ranges)
{
	const struct gmt_allocator_memory *memory = &ooms->memory;
	const struct gmt_allocator_segment *before = NULL;

	for (size_t p = 0; p < memory->addresses.pages.count; p++) {
		const struct gmt_ordered_map_page *page = &memory->addresses.pages.items[p];

		for (size_t i = 0; i < page->count; i++) {
			const struct gmt_allocator_segment *segment =
				&memory->table.items[page->entries[i].value];
			struct range *range;

			if (segment->device != device)
				continue;
			if (!gmt_allocator_memory_continues(before, segment)) {
				range = gmt_vec_push(&ret_ranges->items);
				if (!range)
					return false;
				range->start = segment->address;
				range->is_of_graph = gmt_mark_spans_have(&ooms->captures, segment->stamp);
			}
			range = &ret_ranges->items.items[ret_ranges->items.count - 1];
			range->end = segment->size_bytes > UINT64_MAX - segment->address
				? UINT64_MAX
				: segment->address + segment->size_bytes;
			before = segment;
		}
	}
	return true;
}

static uint64_t at_most(uint64_t bytes, uint64_t limit_bytes)
{
	return bytes < limit_bytes ? bytes : limit_bytes;
}

/*
 * Fills how much memory the request could use. Before PyTorch fails, it searches for a gap, and
 * frees all empty segments that it may free. So a remaining empty segment belongs to a pool that
 * the request cannot use. A request during a graph capture can use only the pools of graphs.
 */
static void fill_usable(struct gmt_oom_row *row, const struct gaps *gaps, bool in_capture)
{
	uint64_t empty_bytes;

	row->has_hole = gaps->has_block;
	row->hole_bytes = gaps->largest_bytes;
	/* If the sums differ, some blocks lie in segments that are not known. */
	row->knows_usable =
		row->has_cache && gaps->block_bytes == row->reserved_bytes - row->cached_bytes;
	if (!row->knows_usable)
		return;
	row->usable_bytes = at_most(gaps->usable_bytes, row->cached_bytes);
	row->graph_bytes = at_most(gaps->graph_bytes, row->cached_bytes);
	empty_bytes = at_most(gaps->graph_empty_bytes, row->cached_bytes - row->graph_bytes);
	row->graph_bytes += empty_bytes;
	if (in_capture)
		row->usable_bytes = row->graph_bytes;
}

static bool fill_gaps(struct gmt_oom_row *row, const struct gmt_ooms *ooms,
	const struct gmt_accounting *accounting, const struct gmt_account *torch)
{
	struct ranges driver = { 0 }, blocks = { 0 };
	bool in_capture = gmt_mark_spans_have(&ooms->captures, row->stamp);

	if (gmt_accounting_block_count(accounting) > MAX_BLOCKS)
		return true;

	bool done = collect_segments(ooms, (int16_t)row->device, &driver) &&
		collect_blocks(accounting, torch, &blocks);
	if (done) {
		struct gaps gaps = find_gaps(&driver, &blocks, in_capture);

		fill_usable(row, &gaps, in_capture);
	}
	gmt_vec_fini(&driver.items);
	gmt_vec_fini(&blocks.items);
	return done;
}

bool gmt_oom_moment_fill(struct gmt_oom_row *row, const struct gmt_ooms *ooms,
	const struct gmt_accounting *accounting, const struct gmt_recording_event *event)
{
	int16_t device = (int16_t)row->device;
	const struct gmt_account *own = gmt_accounting_find_account(accounting, (uint8_t)row->layer,
								 device),
							 *cuda =
								 gmt_accounting_find_account(accounting, GMT_LAYER_CUDA, device),
							 *torch =
								 gmt_accounting_find_account(accounting, GMT_LAYER_TORCH, device);

	row->holders_layer = row->layer;
	row->live_bytes = own ? own->live_bytes : 0;
	row->cuda_bytes = cuda ? cuda->live_bytes : 0;
	fill_cache(row, torch, event);
	if (torch && torch->live_blocks)
		own = torch;
	if (own)
		fill_holders(row, accounting, own);
	/* Before a retry, PyTorch freed whole segments, so the gaps inside segments did not matter. */
	if (!row->recovered && cuda && torch && !fill_gaps(row, ooms, accounting, torch))
		return false;
	/* Only PyTorch can use its cache. A retry comes from PyTorch. */
	if (row->layer != GMT_LAYER_TORCH && !row->recovered) {
		row->knows_usable = true;
		row->usable_bytes = 0;
	}
	return true;
}
