/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/short_lived.h"

#include <stdlib.h>

#include "analysis/history/peaks.h"
#include "containers/map.h"

/* No account can hold more giants at a time than ten; the last is for files that no recorder wrote. */
enum { LIVE_AT_FIRST = 64, LIVE_AT_MOST = 640, SIZES_AT_MOST = 4096, ROWS_AT_MOST = 4096 };

/* What is known of the account's peak; NULL: of accounts behind those that are looked at. */
static const struct gmt_books_account *peak_of(const struct gmt_giants *giants, const struct gmt_replay *replay,
	uint32_t account)
{
	if (giants->peaks)
		return account < giants->peak_count ? &giants->peaks[account] : NULL;
	return account < GMT_PEAKS_ACCOUNTS ? &replay->books.accounts.items[account] : NULL;
}

static bool is_giant(const struct gmt_books_account *peak, uint64_t size_bytes)
{
	return size_bytes && peak && size_bytes >= peak->peak_bytes / 100 * GMT_GIANT_PERCENT;
}

/* Forgets those that are large no longer. */
static void look_through_live(struct gmt_giants *giants, const struct gmt_replay *replay)
{
	size_t left = 0;

	for (size_t i = 0; i < giants->live.count; i++) {
		const struct gmt_giant_block *block = &giants->live.items[i];

		if (is_giant(peak_of(giants, replay, block->account), block->size_bytes))
			giants->live.items[left++] = *block;
	}
	giants->live.count = left;
	giants->most_live = left * 2 > LIVE_AT_FIRST ? left * 2 : LIVE_AT_FIRST;
}

/* The block that lives there; NULL: none that is large. */
static struct gmt_giant_block *find_live(const struct gmt_giants *giants, uint64_t address, uint8_t layer)
{
	for (size_t i = 0; i < giants->live.count; i++)
		if (giants->live.items[i].address == address && giants->live.items[i].layer == layer)
			return &giants->live.items[i];
	return NULL;
}

/* Apart from the look at its size, which is all that most blocks get. */
__attribute__((noinline)) static bool note_began(struct gmt_giants *giants, const struct gmt_replay *replay,
	const struct gmt_snapshot_event *event, uint32_t account)
{
	struct gmt_giant_block *block;

	if (giants->live.count >= giants->most_live)
		look_through_live(giants, replay);
	/* One that ended when it was large no longer is still there. */
	block = find_live(giants, event->address, event->layer);
	if (!block && giants->live.count == LIVE_AT_MOST)
		return true;
	if (!block && !(block = gmt_vec_push(&giants->live)))
		return false;
	*block = (struct gmt_giant_block){
		event->address, event->size_bytes, event->stamp, replay->books.accounts.items[account].alloc_count, account,
		event->layer,
	};
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	struct gmt_giants *giants = user;
	uint32_t account = replay->books.sites.items[site].account;

	giants->last_stamp = event->stamp;
	if (!giants->first_stamp)
		giants->first_stamp = event->stamp;
	return !is_giant(peak_of(giants, replay, account), event->size_bytes) ||
		note_began(giants, replay, event, account);
}

/* The row of a site and size; false when out of memory. */
static bool get_size(struct gmt_giants *giants, uint32_t site, uint64_t size_bytes, struct gmt_giant_size **ret_size)
{
	const uint64_t key[] = { site, giants->peaks ? 0 : size_bytes };
	struct gmt_giant_size *slot;
	uint32_t index;

	if (!gmt_intern(&giants->size_ids, key, sizeof(key), &index))
		return false;
	if (index == giants->sizes.count) {
		slot = gmt_vec_push(&giants->sizes);
		if (!slot)
			return false;
		*slot = (struct gmt_giant_size){ .site = site };
	}
	*ret_size = &giants->sizes.items[index];
	return true;
}

/* Makes room for sizes: forgets those that are large no longer. False when out of memory. */
static bool look_through_sizes(struct gmt_giants *giants, const struct gmt_replay *replay)
{
	size_t count = giants->sizes.count;
	struct gmt_giant_size *size;

	gmt_intern_fini(&giants->size_ids);
	giants->sizes.count = 0;
	/* What is put is never behind what is looked at. */
	for (size_t i = 0; i < count; i++) {
		struct gmt_giant_size kept = giants->sizes.items[i];

		if (!is_giant(peak_of(giants, replay, replay->books.sites.items[kept.site].account), kept.size_bytes))
			continue;
		if (!get_size(giants, kept.site, kept.size_bytes, &size))
			return false;
		*size = kept;
	}
	giants->are_too_many = giants->sizes.count > SIZES_AT_MOST / 2;
	return true;
}

static bool count_giant(struct gmt_giants *giants, const struct gmt_replay *replay,
	const struct gmt_books_block *block, uint64_t life, bool at_peak, uint64_t peak_stamp)
{
	struct gmt_giant_size *size;

	if (!giants->peaks && giants->sizes.count >= SIZES_AT_MOST && !look_through_sizes(giants, replay))
		return false;
	if (giants->are_too_many)
		return true;
	if (!get_size(giants, block->site, block->size_bytes, &size))
		return false;
	size->count++;
	size->life = life > UINT64_MAX - size->life ? UINT64_MAX : size->life + life;
	size->bytes = gmt_books_sum_bytes(size->bytes, block->size_bytes);
	if (block->size_bytes > size->size_bytes)
		size->size_bytes = block->size_bytes;
	if (size->at_peak_stamp != peak_stamp)
		size->at_peak_bytes = 0;
	size->at_peak_stamp = peak_stamp;
	size->at_peak_bytes += at_peak ? block->size_bytes : 0;
	return true;
}

__attribute__((noinline)) static bool note_ended(struct gmt_giants *giants, const struct gmt_replay *replay,
	const struct gmt_snapshot_event *event, const struct gmt_books_block *block)
{
	uint32_t account = replay->books.sites.items[block->site].account;
	const struct gmt_books_account *peak = peak_of(giants, replay, account);
	struct gmt_giant_block *found = find_live(giants, event->address, event->layer), live;

	if (!found)
		return true;
	live = *found;
	*found = giants->live.items[--giants->live.count];
	if (replay->books.accounts.items[account].alloc_count - live.allocs > GMT_GIANT_ALLOCATIONS)
		return true;
	return count_giant(giants, replay, block, event->stamp - live.stamp,
		live.stamp <= peak->peak_stamp && event->stamp > peak->peak_stamp,
		peak->peak_stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	const struct gmt_books_block *block)
{
	struct gmt_giants *giants = user;
	uint32_t account = replay->books.sites.items[block->site].account;

	giants->last_stamp = event->stamp;
	return giants->are_too_many || !is_giant(peak_of(giants, replay, account), block->size_bytes) ||
		note_ended(giants, replay, event, block);
}

/* The row of the site: it comes behind those of all other sites. NULL: there is no room. */
static struct gmt_giant *get_row(struct gmt_giants *giants, struct gmt_map *rows, uint32_t site)
{
	uint64_t index;

	if (!gmt_map_find(rows, site, &index)) {
		struct gmt_giant *row = gmt_vec_push(&giants->rows);

		index = giants->rows.count - 1;
		if (!row || !gmt_map_put(rows, site, index))
			return NULL;
		*row = (struct gmt_giant){ .site = site };
	}
	return &giants->rows.items[index];
}

/* Sums up what was large next to the last peak. */
static bool make_rows(struct gmt_giants *giants, const struct gmt_replay *replay)
{
	uint64_t span = giants->last_stamp - giants->first_stamp;
	uint64_t longest_life = span / 100 * GMT_GIANT_LIFE_PERCENT + span % 100 * GMT_GIANT_LIFE_PERCENT / 100;
	struct gmt_map ids = { 0 };
	bool done = true;

	for (size_t i = 0; done && i < giants->sizes.count && giants->rows.count < ROWS_AT_MOST; i++) {
		const struct gmt_giant_size *size = &giants->sizes.items[i];
		const struct gmt_books_account *peak =
			peak_of(giants, replay, replay->books.sites.items[size->site].account);
		struct gmt_giant *row;

		if (!is_giant(peak, size->size_bytes) || size->life / size->count > longest_life)
			continue;
		row = get_row(giants, &ids, size->site);
		done = row;
		if (!done)
			continue;
		row->count += size->count;
		row->bytes = gmt_books_sum_bytes(row->bytes, size->bytes);
		if (size->size_bytes > row->largest_bytes)
			row->largest_bytes = size->size_bytes;
		if (size->at_peak_stamp == peak->peak_stamp)
			row->at_peak_bytes += size->at_peak_bytes;
	}
	gmt_map_fini(&ids);
	return done;
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

	if (giants->are_too_many)
		return true;
	if (!make_rows(giants, replay))
		return false;
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
	gmt_vec_fini(&giants->sizes);
	gmt_intern_fini(&giants->size_ids);
	gmt_vec_fini(&giants->rows);
}
