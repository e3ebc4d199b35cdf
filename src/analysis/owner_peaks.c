/* SPDX-License-Identifier: MIT */
#include "analysis/owner_peaks.h"

static uint64_t key_of(uint32_t account, uint32_t owner)
{
	return (uint64_t)account << 32 | owner;
}

static struct gmt_owner_peak *get_row(struct gmt_owner_peaks *peaks, const struct gmt_replay *replay, uint32_t site)
{
	uint32_t id = replay->books.sites.items[site].account;
	const struct gmt_books_account *account = &replay->books.accounts.items[id];
	uint64_t index, key = key_of(id, gmt_owners_find(&peaks->traces->owners, replay->site_stacks.items[site],
		account->layer, account->device));

	if (!gmt_map_find(&peaks->row_ids, key, &index)) {
		struct gmt_owner_peak *row = gmt_vec_push(&peaks->rows);

		index = peaks->rows.count - 1;
		if (!row || !gmt_map_put(&peaks->row_ids, key, index))
			return NULL;
	}
	return &peaks->rows.items[index];
}

/* Counts what the site holds now in place of what it held before. */
static bool count_site(struct gmt_owner_peaks *peaks, const struct gmt_replay *replay, uint32_t site)
{
	uint64_t now = replay->books.sites.items[site].live_bytes;
	struct gmt_owner_peak *row = get_row(peaks, replay, site);

	if (!row)
		return false;
	while (peaks->site_bytes.count <= site) {
		uint64_t *slot = gmt_vec_push(&peaks->site_bytes);

		if (!slot)
			return false;
	}
	row->live_bytes += now - peaks->site_bytes.items[site];
	peaks->site_bytes.items[site] = now;
	if (row->live_bytes > row->max_live_bytes)
		row->max_live_bytes = row->live_bytes;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	(void)event;
	return count_site(user, replay, site);
}

static bool on_ended(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	const struct gmt_books_block *block)
{
	(void)event;
	return count_site(user, replay, block->site);
}

void gmt_owner_peaks_init(struct gmt_owner_peaks *peaks, const struct gmt_traces *traces)
{
	peaks->traces = traces;
	peaks->observer = (struct gmt_replay_observer){ .began = on_began, .ended = on_ended, .user = peaks };
}

uint64_t gmt_owner_peaks_find(const struct gmt_owner_peaks *peaks, uint32_t account, uint32_t owner)
{
	uint64_t index;

	return gmt_map_find(&peaks->row_ids, key_of(account, owner), &index) ? peaks->rows.items[index].max_live_bytes : 0;
}

void gmt_owner_peaks_fini(struct gmt_owner_peaks *peaks)
{
	gmt_vec_fini(&peaks->rows);
	gmt_vec_fini(&peaks->site_bytes);
	gmt_map_fini(&peaks->row_ids);
}
