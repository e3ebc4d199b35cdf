/* SPDX-License-Identifier: MIT */
#include "analysis/giants.h"

#include <stdlib.h>

/* No account can hold more giants at a time than ten; this is for files that no recorder wrote. */
enum { LIVE_AT_MOST = 640, ROWS_AT_MOST = 4096 };

static bool is_giant(const struct gmt_giants *giants, uint32_t account, uint64_t size_bytes)
{
	return size_bytes && account < giants->peak_count &&
		size_bytes >= giants->peaks[account].peak_bytes / 100 * GMT_GIANT_PERCENT;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	struct gmt_giants *giants = user;
	uint32_t account = replay->books.sites.items[site].account;
	struct gmt_giant_block *block;

	if (!is_giant(giants, account, event->size_bytes) || giants->live.count == LIVE_AT_MOST)
		return true;
	if (!(block = gmt_vec_push(&giants->live)))
		return false;
	*block = (struct gmt_giant_block){
		event->address, event->stamp, replay->books.accounts.items[account].alloc_count, event->layer,
	};
	return true;
}

static bool count_giant(struct gmt_giants *giants, const struct gmt_books_block *block, bool at_peak)
{
	struct gmt_giant *row = NULL;

	for (size_t i = 0; i < giants->rows.count && !row; i++)
		if (giants->rows.items[i].site == block->site)
			row = &giants->rows.items[i];
	if (!row) {
		if (giants->rows.count == ROWS_AT_MOST)
			return true;
		if (!(row = gmt_vec_push(&giants->rows)))
			return false;
		row->site = block->site;
	}
	row->count++;
	row->bytes = row->bytes + block->size_bytes > INT64_MAX ? INT64_MAX : row->bytes + block->size_bytes;
	if (block->size_bytes > row->largest_bytes)
		row->largest_bytes = block->size_bytes;
	row->at_peak_bytes += at_peak ? block->size_bytes : 0;
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	const struct gmt_books_block *block)
{
	struct gmt_giants *giants = user;
	uint32_t account = replay->books.sites.items[block->site].account;

	if (!is_giant(giants, account, block->size_bytes))
		return true;
	for (size_t i = 0; i < giants->live.count; i++) {
		struct gmt_giant_block found = giants->live.items[i];
		uint64_t peak = giants->peaks[account].peak_stamp;

		if (found.address != event->address || found.layer != event->layer)
			continue;
		giants->live.items[i] = giants->live.items[--giants->live.count];
		if (replay->books.accounts.items[account].alloc_count - found.allocs > GMT_GIANT_ALLOCATIONS)
			return true;
		return count_giant(giants, block, found.stamp <= peak && event->stamp > peak);
	}
	return true;
}

static int by_bytes(const void *left, const void *right)
{
	const struct gmt_giant *a = left, *b = right;

	if (a->largest_bytes != b->largest_bytes)
		return a->largest_bytes > b->largest_bytes ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_giants *giants = user;

	(void)replay;
	if (giants->rows.count)
		qsort(giants->rows.items, giants->rows.count, sizeof(*giants->rows.items), by_bytes);
	return true;
}

void gmt_giants_init(struct gmt_giants *giants, const struct gmt_books_account *peaks, size_t peak_count)
{
	giants->peaks = peaks;
	giants->peak_count = peak_count;
	giants->observer = (struct gmt_replay_observer){
		.began = on_began, .ended = on_ended, .finished = on_finished, .user = giants,
	};
}

void gmt_giants_fini(struct gmt_giants *giants)
{
	gmt_vec_fini(&giants->live);
	gmt_vec_fini(&giants->rows);
}
