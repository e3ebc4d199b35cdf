/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/short_lived.h"

#include <stdlib.h>

#include "analysis/history/peaks.h"
#include "containers/map.h"

/*
 * An account can hold at most ten such blocks at a time. MAX_LIVE protects against files that
 * were not written by a recorder.
 */
enum { LIVE_AT_FIRST = 64, MAX_LIVE = 640, MAX_SIZES = 4096, MAX_ROWS = 4096 };

/*
 * Returns the account with the peak known so far. Returns NULL for accounts that this analysis does
 * not cover.
 */
static const struct gmt_account *peak_of(const struct gmt_short_lived *short_lived,
	const struct gmt_replay *replay, uint32_t account)
{
	if (short_lived->peaks)
		return account < short_lived->peak_count ? &short_lived->peaks[account] : NULL;
	return account < GMT_PEAKS_ACCOUNTS ? &replay->accounting.accounts.items[account] : NULL;
}

static bool is_short_lived_candidate(const struct gmt_account *peak, uint64_t size_bytes)
{
	return size_bytes && peak && size_bytes >= peak->peak_bytes / 100 * GMT_SHORT_LIVED_PERCENT;
}

/* Removes the blocks that are no longer large. */
static void keep_live_candidates(struct gmt_short_lived *short_lived,
	const struct gmt_replay *replay)
{
	size_t kept_count = 0;

	for (size_t i = 0; i < short_lived->live.count; i++) {
		const struct gmt_short_lived_block *block = &short_lived->live.items[i];

		if (is_short_lived_candidate(peak_of(short_lived, replay, block->account),
				block->size_bytes))
			short_lived->live.items[kept_count++] = *block;
	}
	short_lived->live.count = kept_count;
	short_lived->max_live = kept_count * 2 > LIVE_AT_FIRST ? kept_count * 2 : LIVE_AT_FIRST;
}

/* Returns the large block that lives at the address, or NULL. */
static struct gmt_short_lived_block *find_live(const struct gmt_short_lived *short_lived,
	uint64_t address, uint8_t layer)
{
	for (size_t i = 0; i < short_lived->live.count; i++)
		if (short_lived->live.items[i].address == address &&
			short_lived->live.items[i].layer == layer)
			return &short_lived->live.items[i];
	return NULL;
}

/* Separate from on_began, because most blocks need only the check of their size. */
__attribute__((noinline)) static bool note_began(struct gmt_short_lived *short_lived,
	const struct gmt_replay *replay, const struct gmt_recording_event *event, uint32_t account)
{
	struct gmt_short_lived_block *block;

	if (short_lived->live.count >= short_lived->max_live)
		keep_live_candidates(short_lived, replay);
	/*
	 * The entry of an older block may still be here: a block that was no longer large at its end is
	 * not removed.
	 */
	block = find_live(short_lived, event->address, event->layer);
	if (!block && short_lived->live.count == MAX_LIVE)
		return true;
	if (!block && !(block = gmt_vec_push(&short_lived->live)))
		return false;
	*block = (struct gmt_short_lived_block){
		event->address,
		event->size_bytes,
		event->stamp,
		replay->accounting.accounts.items[account].alloc_count,
		account,
		event->layer,
	};
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_short_lived *short_lived = user;
	uint32_t account = replay->accounting.sites.items[site].account;

	short_lived->last_stamp = event->stamp;
	if (!short_lived->first_stamp)
		short_lived->first_stamp = event->stamp;
	return !is_short_lived_candidate(peak_of(short_lived, replay, account), event->size_bytes) ||
		note_began(short_lived, replay, event, account);
}

/* Stores the row of a site and size. Returns false if memory is exhausted. */
static bool get_size(struct gmt_short_lived *short_lived, uint32_t site, uint64_t size_bytes,
	struct gmt_short_lived_size **ret_size)
{
	const uint64_t key[] = { site, short_lived->peaks ? 0 : size_bytes };
	struct gmt_short_lived_size *slot;
	uint32_t index;

	if (!gmt_intern(&short_lived->size_ids, key, sizeof(key), &index))
		return false;
	if (index == short_lived->sizes.count) {
		slot = gmt_vec_push(&short_lived->sizes);
		if (!slot)
			return false;
		*slot = (struct gmt_short_lived_size){ .site = site };
	}
	*ret_size = &short_lived->sizes.items[index];
	return true;
}

/*
 * Removes the sizes that are no longer large, to make room. Returns false if memory is exhausted.
 */
static bool keep_size_candidates(struct gmt_short_lived *short_lived,
	const struct gmt_replay *replay)
{
	size_t count = short_lived->sizes.count;
	struct gmt_short_lived_size *size;

	gmt_intern_fini(&short_lived->size_ids);
	short_lived->sizes.count = 0;
	/* get_size never writes past the row that this loop reads. */
	for (size_t i = 0; i < count; i++) {
		struct gmt_short_lived_size kept = short_lived->sizes.items[i];

		if (!is_short_lived_candidate(peak_of(short_lived, replay,
										  replay->accounting.sites.items[kept.site].account),
				kept.size_bytes))
			continue;
		if (!get_size(short_lived, kept.site, kept.size_bytes, &size))
			return false;
		*size = kept;
	}
	short_lived->are_too_many = short_lived->sizes.count > MAX_SIZES / 2;
	return true;
}

static bool count_short_lived(struct gmt_short_lived *short_lived, const struct gmt_replay *replay,
	const struct gmt_account_block *block, uint64_t life_ticks, bool at_peak, uint64_t peak_stamp)
{
	struct gmt_short_lived_size *size;

	if (!short_lived->peaks && short_lived->sizes.count >= MAX_SIZES &&
		!keep_size_candidates(short_lived, replay))
		return false;
	if (short_lived->are_too_many)
		return true;
	if (!get_size(short_lived, block->site, block->size_bytes, &size))
		return false;
	size->count++;
	size->life_ticks =
		life_ticks > UINT64_MAX - size->life_ticks ? UINT64_MAX : size->life_ticks + life_ticks;
	size->bytes = gmt_saturating_add_i64(size->bytes, block->size_bytes);
	if (block->size_bytes > size->size_bytes)
		size->size_bytes = block->size_bytes;
	if (size->at_peak_stamp != peak_stamp)
		size->at_peak_bytes = 0;
	size->at_peak_stamp = peak_stamp;
	size->at_peak_bytes += at_peak ? block->size_bytes : 0;
	return true;
}

__attribute__((noinline)) static bool note_ended(struct gmt_short_lived *short_lived,
	const struct gmt_replay *replay, const struct gmt_recording_event *event,
	const struct gmt_account_block *block)
{
	uint32_t account = replay->accounting.sites.items[block->site].account;
	const struct gmt_account *peak = peak_of(short_lived, replay, account);
	struct gmt_short_lived_block *found = find_live(short_lived, event->address, event->layer),
								 live;

	if (!found)
		return true;
	live = *found;
	*found = short_lived->live.items[--short_lived->live.count];
	if (replay->accounting.accounts.items[account].alloc_count - live.allocs >
		GMT_SHORT_LIVED_ALLOCATIONS)
		return true;
	return count_short_lived(short_lived, replay, block, event->stamp - live.stamp,
		live.stamp <= peak->peak_stamp && event->stamp > peak->peak_stamp, peak->peak_stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_short_lived *short_lived = user;
	uint32_t account = replay->accounting.sites.items[block->site].account;

	short_lived->last_stamp = event->stamp;
	return short_lived->are_too_many ||
		!is_short_lived_candidate(peak_of(short_lived, replay, account), block->size_bytes) ||
		note_ended(short_lived, replay, event, block);
}

/*
 * Returns the row of the site, which is added after all existing rows. NULL: memory is exhausted.
 */
static struct gmt_short_lived_row *get_row(struct gmt_short_lived *short_lived,
	struct gmt_map *rows, uint32_t site)
{
	uint64_t index;

	if (!gmt_map_find(rows, site, &index)) {
		struct gmt_short_lived_row *row = gmt_vec_push(&short_lived->rows);

		index = short_lived->rows.count - 1;
		if (!row || !gmt_map_put(rows, site, index))
			return NULL;
		*row = (struct gmt_short_lived_row){ .site = site };
	}
	return &short_lived->rows.items[index];
}

/* Sums up the sizes that are large compared with the last peak. */
static bool make_rows(struct gmt_short_lived *short_lived, const struct gmt_replay *replay)
{
	uint64_t span = short_lived->last_stamp - short_lived->first_stamp;
	uint64_t longest_life_ticks =
		span / 100 * GMT_SHORT_LIVED_LIFE_PERCENT + span % 100 * GMT_SHORT_LIVED_LIFE_PERCENT / 100;
	struct gmt_map ids = { 0 };
	bool done = true;

	for (size_t i = 0; done && i < short_lived->sizes.count && short_lived->rows.count < MAX_ROWS;
		i++) {
		const struct gmt_short_lived_size *size = &short_lived->sizes.items[i];
		const struct gmt_account *peak =
			peak_of(short_lived, replay, replay->accounting.sites.items[size->site].account);
		struct gmt_short_lived_row *row;

		if (!is_short_lived_candidate(peak, size->size_bytes) ||
			size->life_ticks / size->count > longest_life_ticks)
			continue;
		row = get_row(short_lived, &ids, size->site);
		done = row;
		if (!done)
			continue;
		row->count += size->count;
		row->bytes = gmt_saturating_add_i64(row->bytes, size->bytes);
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
	const struct gmt_short_lived_row *a = left, *b = right;

	if (a->largest_bytes != b->largest_bytes)
		return a->largest_bytes > b->largest_bytes ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_short_lived *short_lived = user;

	if (short_lived->are_too_many)
		return true;
	if (!make_rows(short_lived, replay))
		return false;
	if (short_lived->rows.count)
		qsort(short_lived->rows.items, short_lived->rows.count, sizeof(*short_lived->rows.items),
			by_bytes);
	return true;
}

void gmt_short_lived_init(struct gmt_short_lived *short_lived, const struct gmt_account *peaks,
	size_t peak_count)
{
	short_lived->peaks = peaks;
	short_lived->peak_count = peak_count;
	short_lived->observer = (struct gmt_replay_observer){
		.began = on_began,
		.ended = on_ended,
		.finished = on_finished,
		.user = short_lived,
	};
}

void gmt_short_lived_fini(struct gmt_short_lived *short_lived)
{
	gmt_vec_fini(&short_lived->live);
	gmt_vec_fini(&short_lived->sizes);
	gmt_intern_fini(&short_lived->size_ids);
	gmt_vec_fini(&short_lived->rows);
}
