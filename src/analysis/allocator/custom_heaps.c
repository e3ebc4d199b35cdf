/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/custom_heaps.h"

#include <stdlib.h>

#include "reader/load/clock.h"

static struct gmt_custom_heap_row row_of(const struct gmt_recording *recording,
	const struct gmt_replay *replay, size_t index)
{
	const struct gmt_interpret_heap_group *heap = &replay->heaps.items[index];
	const struct gmt_account_heap *accounting = &replay->accounting.heaps.items[index];
	struct gmt_custom_heap_row row = {
		.heap = heap,
		.accounting = *accounting,
		.peak_time_ns =
			accounting->peak_number ? gmt_clock_time_ns(recording, accounting->peak_stamp) : 0,
		.has_size = heap->live_heaps && !heap->unsized_heaps,
	};

	row.accounting.live_bytes = gmt_replay_end_heap(replay, index).bytes;
	row.accounting.live_blocks = gmt_replay_end_heap(replay, index).blocks;
	/* A heap may have handed out more memory than its declared size. */
	if (row.has_size && heap->size_bytes > row.accounting.live_bytes)
		row.free_bytes = heap->size_bytes - row.accounting.live_bytes;
	return row;
}

static bool add_site(struct gmt_custom_heaps *heaps, const struct gmt_replay *replay,
	const struct gmt_traces *traces, uint32_t id)
{
	const struct gmt_account_site *site = &replay->accounting.sites.items[id];
	struct gmt_account_amount peak = gmt_account_site_heap_peak(&replay->accounting, id);
	struct gmt_custom_heap_site *row;

	if (!site->heap_plus_1 || !site->alloc_count)
		return true;
	row = gmt_vec_push(&heaps->rows.items[site->heap_plus_1 - 1].sites);
	if (!row)
		return false;
	*row = (struct gmt_custom_heap_site){
		.id = id,
		.stack = replay->site_stacks.items[id],
		.own_line = gmt_traces_own_line(traces, replay->site_stacks.items[id]),
		.peak_bytes = peak.bytes,
		.peak_blocks = peak.blocks,
		.live_bytes = gmt_replay_end_site(replay, id).bytes,
		.live_blocks = gmt_replay_end_site(replay, id).blocks,
		.total_bytes = site->total_bytes,
		.alloc_count = site->alloc_count,
		.free_count = site->free_count,
	};
	return true;
}

static int larger(uint64_t a, uint64_t b)
{
	return (b > a) - (b < a);
}

static int by_site_peak(const void *left, const void *right)
{
	const struct gmt_custom_heap_site *a = left, *b = right;
	int order = larger(a->peak_bytes, b->peak_bytes);

	if (!order)
		order = larger(a->total_bytes, b->total_bytes);
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

static int by_heap_peak(const void *left, const void *right)
{
	const struct gmt_custom_heap_row *a = left, *b = right;
	int order = larger(a->accounting.peak_bytes, b->accounting.peak_bytes);

	/* The heaps of the replay lie in one array, so their addresses can be compared. */
	return order ? order : (a->heap > b->heap) - (a->heap < b->heap);
}

static void sort(struct gmt_custom_heaps *heaps)
{
	for (size_t i = 0; i < heaps->rows.count; i++) {
		struct gmt_custom_heap_row *row = &heaps->rows.items[i];

		if (row->sites.count)
			qsort(row->sites.items, row->sites.count, sizeof(*row->sites.items), by_site_peak);
	}
	if (heaps->rows.count)
		qsort(heaps->rows.items, heaps->rows.count, sizeof(*heaps->rows.items), by_heap_peak);
}

enum gmt_status gmt_custom_heaps_compute(struct gmt_custom_heaps *ret_heaps,
	const struct gmt_recording *recording, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	bool done = true;

	for (size_t i = 0; done && i < replay->heaps.count; i++) {
		struct gmt_custom_heap_row *row = gmt_vec_push(&ret_heaps->rows);

		done = row;
		if (done)
			*row = row_of(recording, replay, i);
	}
	for (uint32_t id = 0; done && replay->heaps.count && id < replay->accounting.sites.count; id++)
		done = add_site(ret_heaps, replay, traces, id);
	if (!done) {
		gmt_custom_heaps_fini(ret_heaps);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	sort(ret_heaps);
	return GMT_OK;
}

void gmt_custom_heaps_fini(struct gmt_custom_heaps *heaps)
{
	for (size_t i = 0; i < heaps->rows.count; i++)
		gmt_vec_fini(&heaps->rows.items[i].sites);
	gmt_vec_fini(&heaps->rows);
}
