/* SPDX-License-Identifier: MIT */
#include "analysis/stretch/stretch.h"

/* Adds the rows of accounts that are new. */
static bool add_new_accounts(struct gmt_stretch *stretch, const struct gmt_accounting *accounting)
{
	return gmt_vec_grow_to(&stretch->accounts, accounting->accounts.count);
}

static bool begin(struct gmt_stretch *stretch, const struct gmt_accounting *accounting)
{
	if (stretch->has_begun)
		return true;
	if (!add_new_accounts(stretch, accounting))
		return false;
	for (size_t i = 0; i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		stretch->accounts.items[i] = (struct gmt_stretch_account){
			.begin_live_bytes = account->live_bytes,
			.begin_live_blocks = account->live_blocks,
			.peak_bytes = account->live_bytes,
			.peak_blocks = account->live_blocks,
		};
	}
	stretch->began = accounting->last_sequence;
	stretch->has_begun = true;
	return true;
}

static struct gmt_stretch_site *get_site(struct gmt_stretch *stretch, uint32_t id)
{
	return gmt_vec_grow_to(&stretch->sites, (size_t)id + 1) ? &stretch->sites.items[id] : NULL;
}

/* Stores what the site held at the account's last peak, if the site has not changed since. */
static void save_peak(struct gmt_stretch_site *site, const struct gmt_stretch_account *account)
{
	if (site->peak_number == account->peak_number)
		return;
	site->peak_number = account->peak_number;
	site->peak_bytes = site->left_bytes;
	site->peak_blocks = site->left_blocks;
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_stretch *stretch = user;

	(void)event;
	if (index < stretch->first)
		return true;
	stretch->next_needed_stamp = gmt_replay_quiet;
	return begin(stretch, &replay->accounting);
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t id)
{
	struct gmt_stretch *stretch = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	uint32_t account_id = accounting->sites.items[id].account;
	const struct gmt_account *now = &accounting->accounts.items[account_id];
	struct gmt_stretch_account *account;
	struct gmt_stretch_site *site;

	if (!stretch->has_begun)
		return true;
	if (!add_new_accounts(stretch, accounting) || !(site = get_site(stretch, id)))
		return false;
	account = &stretch->accounts.items[account_id];
	save_peak(site, account);
	site->allocs++;
	site->alloc_bytes = gmt_saturating_add_i64(site->alloc_bytes, event->size_bytes);
	site->left_bytes += event->size_bytes;
	site->left_blocks++;
	account->allocs++;
	account->alloc_bytes = gmt_saturating_add_i64(account->alloc_bytes, event->size_bytes);
	if (now->live_bytes > account->peak_bytes) {
		account->peak_bytes = now->live_bytes;
		account->peak_blocks = now->live_blocks;
		account->peak_stamp = event->stamp;
		account->peak_number++;
	}
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_stretch *stretch = user;
	uint32_t account_id = replay->accounting.sites.items[block->site].account;
	struct gmt_stretch_account *account;
	struct gmt_stretch_site *site;

	(void)event;
	if (!stretch->has_begun)
		return true;
	if (!add_new_accounts(stretch, &replay->accounting) || !(site = get_site(stretch, block->site)))
		return false;
	account = &stretch->accounts.items[account_id];
	account->frees++;
	account->freed_bytes = gmt_saturating_add_i64(account->freed_bytes, block->size_bytes);
	if (block->sequence <= stretch->began)
		return true;
	save_peak(site, account);
	site->left_bytes -= block->size_bytes;
	site->left_blocks--;
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_stretch *stretch = user;
	const struct gmt_accounting *accounting = &replay->accounting;

	/* There may be no event in the stretch. */
	if (!begin(stretch, accounting) || !add_new_accounts(stretch, accounting))
		return false;
	for (size_t i = 0; i < accounting->accounts.count; i++) {
		stretch->accounts.items[i].end_live_bytes = accounting->accounts.items[i].live_bytes;
		stretch->accounts.items[i].end_live_blocks = accounting->accounts.items[i].live_blocks;
	}
	for (uint32_t id = 0; id < stretch->sites.count; id++)
		save_peak(&stretch->sites.items[id],
			&stretch->accounts.items[accounting->sites.items[id].account]);
	return true;
}

void gmt_stretch_init(struct gmt_stretch *stretch, const struct gmt_recording *recording,
	size_t first)
{
	stretch->first = first;
	/* Events of one time are all in the stretch, or all before it. */
	stretch->next_needed_stamp = first ? gmt_recording_event(recording, first - 1).stamp : 0;
	stretch->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &stretch->next_needed_stamp,
		.began = on_began,
		.ended = on_ended,
		.finished = on_finished,
		.user = stretch,
	};
}

void gmt_stretch_fini(struct gmt_stretch *stretch)
{
	gmt_vec_fini(&stretch->accounts);
	gmt_vec_fini(&stretch->sites);
}
