/* SPDX-License-Identifier: MIT */
#include "analysis/history/owner_peaks.h"

static uint64_t key_of(uint32_t account, uint32_t owner)
{
	return (uint64_t)account << 32 | owner;
}

/* Assigns a row to the site. False when out of memory. */
static bool find_row(struct gmt_owner_peaks *peaks, const struct gmt_replay *replay, uint32_t site)
{
	uint32_t id = replay->accounting.sites.items[site].account;
	const struct gmt_account *account = &replay->accounting.accounts.items[id];
	uint64_t index,
		key = key_of(id,
			gmt_owners_find(&peaks->traces->owners, replay->site_stacks.items[site], account->layer,
				account->device));

	if (!gmt_map_find(&peaks->row_ids, key, &index)) {
		struct gmt_owner_peak *row = gmt_vec_push(&peaks->rows);

		index = peaks->rows.count - 1;
		if (!row || !gmt_map_put(&peaks->row_ids, key, index))
			return false;
	}
	peaks->sites.items[site].row_plus_1 = index + 1;
	return true;
}

/* Replaces what the row counts for the site by what the site holds now. */
static bool count_site(struct gmt_owner_peaks *peaks, const struct gmt_replay *replay, uint32_t id)
{
	uint64_t now = replay->accounting.sites.items[id].live_bytes;

	while (peaks->sites.count <= id) {
		struct gmt_owner_peaks_site *slot = gmt_vec_push(&peaks->sites);

		if (!slot)
			return false;
	}
	if (!peaks->sites.items[id].row_plus_1 && !find_row(peaks, replay, id))
		return false;

	struct gmt_owner_peaks_site *site = &peaks->sites.items[id];
	struct gmt_owner_peak *row = &peaks->rows.items[site->row_plus_1 - 1];
	row->live_bytes += now - site->bytes;
	site->bytes = now;
	if (row->live_bytes > row->max_live_bytes)
		row->max_live_bytes = row->live_bytes;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	(void)event;
	return count_site(user, replay, site);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	(void)event;
	return count_site(user, replay, block->site);
}

void gmt_owner_peaks_init(struct gmt_owner_peaks *peaks, const struct gmt_traces *traces)
{
	peaks->traces = traces;
	peaks->observer =
		(struct gmt_replay_observer){ .began = on_began, .ended = on_ended, .user = peaks };
}

uint64_t gmt_owner_peaks_find(const struct gmt_owner_peaks *peaks, uint32_t account, uint32_t owner)
{
	uint64_t index;

	return gmt_map_find(&peaks->row_ids, key_of(account, owner), &index)
		? peaks->rows.items[index].max_live_bytes
		: 0;
}

void gmt_owner_peaks_fini(struct gmt_owner_peaks *peaks)
{
	gmt_vec_fini(&peaks->rows);
	gmt_vec_fini(&peaks->sites);
	gmt_map_fini(&peaks->row_ids);
}
