/* SPDX-License-Identifier: MIT */
#include "analysis/oom_moment.h"

#include <stdlib.h>
#include <string.h>

/* With more live blocks than that, gaps are not looked for: a file may say anything. */
enum { MAX_BLOCKS_WALKED = 1 << 19 };

struct range {
	uint64_t start, end;
};

struct ranges {
	GMT_VEC(struct range) items;
};

static void fill_cache(struct gmt_oom_row *row, const struct gmt_books_account *torch,
	const struct gmt_snapshot_event *event)
{
	struct gmt_snapshot_totals totals;
	uint64_t allocated;

	if (gmt_snapshot_totals(event, &totals)) {
		row->has_cache = true;
		row->reserved_bytes = totals.reserved_bytes;
		allocated = totals.allocated_bytes;
	} else if (torch && torch->has_totals) {
		row->has_cache = true;
		row->reserved_bytes = torch->told_reserved_bytes;
		allocated = torch->told_allocated_bytes;
	} else {
		return;
	}
	row->cached_bytes = row->reserved_bytes > allocated ? row->reserved_bytes - allocated : 0;
}

/* Keeps the holders sorted, largest first. */
static void note_holder(struct gmt_oom_row *row, uint32_t id, const struct gmt_books_site *site)
{
	uint32_t place = row->holder_count;

	while (place && row->holders[place - 1].bytes < site->live_bytes)
		place--;
	if (place == GMT_OOMS_HOLDERS)
		return;
	if (row->holder_count < GMT_OOMS_HOLDERS)
		row->holder_count++;
	memmove(&row->holders[place + 1], &row->holders[place],
		(row->holder_count - 1 - place) * sizeof(*row->holders));
	row->holders[place] = (struct gmt_oom_holder){ id, site->live_bytes, site->live_blocks };
}

static void fill_holders(struct gmt_oom_row *row, const struct gmt_books *books,
	const struct gmt_books_account *account)
{
	row->holders_layer = account->layer;
	row->held_bytes = account->live_bytes;
	for (uint32_t id = 0; id < books->sites.count; id++) {
		const struct gmt_books_site *site = &books->sites.items[id];

		if (site->live_bytes && &books->accounts.items[site->account] == account)
			note_holder(row, id, site);
	}
}

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* The live blocks of one account, by address. */
static bool collect(const struct gmt_books *books, const struct gmt_books_account *account,
	struct ranges *ret_ranges)
{
	struct gmt_books_place place;
	size_t cursor = 0;

	while (gmt_books_next_block(books, account->layer, &cursor, &place)) {
		const struct gmt_books_site *site = &books->sites.items[place.block.site];
		uint64_t size_bytes = place.block.size_bytes;

		if (&books->accounts.items[site->account] != account ||
			gmt_space_realm(books->spaces.items[site->space].space) != GMT_REALM_ADDRESS)
			continue;

		struct range *range = gmt_vec_push(&ret_ranges->items);
		if (!range)
			return false;
		range->start = place.address;
		range->end = place.address > UINT64_MAX - size_bytes ? UINT64_MAX : place.address + size_bytes;
	}
	if (ret_ranges->items.count)
		qsort(ret_ranges->items.items, ret_ranges->items.count, sizeof(struct range), by_start);
	return true;
}

/* A segment is memory from the driver that a block of PyTorch's lies in; what none covers is a gap. */
static void find_gaps(struct gmt_oom_row *row, const struct ranges *driver, const struct ranges *torch)
{
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
			if (block->start > covered && block->start - covered > row->hole_bytes)
				row->hole_bytes = block->start - covered;
			covered = block->end > covered ? block->end : covered;
		}
		row->has_hole |= has_block;
		if (has_block && segment->end > covered && segment->end - covered > row->hole_bytes)
			row->hole_bytes = segment->end - covered;
	}
}

/* What came from the driver, in the order of addresses; pages that lie side by side are one. */
static bool collect_memory(const struct gmt_allocator_memory *memory, int16_t device, struct ranges *ret_ranges)
{
	const struct gmt_allocator_segment *before = NULL;

	for (size_t p = 0; p < memory->places.pages.count; p++) {
		const struct gmt_ordered_page *page = &memory->places.pages.items[p];

		for (size_t i = 0; i < page->count; i++) {
			const struct gmt_allocator_segment *segment = &memory->table.items[page->entries[i].value];
			struct range *range;

			if (segment->device != device)
				continue;
			if (!gmt_allocator_memory_goes_on(before, segment)) {
				range = gmt_vec_push(&ret_ranges->items);
				if (!range)
					return false;
				range->start = segment->address;
			}
			range = &ret_ranges->items.items[ret_ranges->items.count - 1];
			range->end = segment->size_bytes > UINT64_MAX - segment->address ? UINT64_MAX :
				segment->address + segment->size_bytes;
			before = segment;
		}
	}
	return true;
}

static bool fill_hole(struct gmt_oom_row *row, const struct gmt_allocator_memory *memory,
	const struct gmt_books *books, const struct gmt_books_account *torch)
{
	struct ranges driver = { 0 }, blocks = { 0 };

	if (gmt_books_block_count(books) > MAX_BLOCKS_WALKED)
		return true;

	bool done = collect_memory(memory, (int16_t)row->device, &driver) && collect(books, torch, &blocks);
	if (done)
		find_gaps(row, &driver, &blocks);
	gmt_vec_fini(&driver.items);
	gmt_vec_fini(&blocks.items);
	return done;
}

bool gmt_oom_moment_fill(struct gmt_oom_row *row, const struct gmt_ooms *ooms, const struct gmt_books *books,
	const struct gmt_snapshot_event *event)
{
	int16_t device = (int16_t)row->device;
	const struct gmt_books_account *own = gmt_books_find_account(books, (uint8_t)row->layer, device),
		*cuda = gmt_books_find_account(books, GMT_LAYER_CUDA, device),
		*torch = gmt_books_find_account(books, GMT_LAYER_TORCH, device);

	row->holders_layer = row->layer;
	row->live_bytes = own ? own->live_bytes : 0;
	row->cuda_bytes = cuda ? cuda->live_bytes : 0;
	fill_cache(row, torch, event);
	if (torch && torch->live_blocks)
		own = torch;
	if (own)
		fill_holders(row, books, own);
	/* A retry gave up the gaps that mattered: whole segments. */
	return row->recovered || !cuda || !torch || fill_hole(row, &ooms->memory, books, torch);
}
