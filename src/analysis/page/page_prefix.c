/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_prefix.h"

#include "reader/load/clock.h"

void gmt_page_prefix_phase(struct gmt_page_account *account, unsigned phase, uint64_t size_bytes,
	bool is_end)
{
	account->phases[phase].live_bytes += is_end ? 0 - size_bytes : size_bytes;
}

static bool set_site(struct gmt_page_account *account, struct gmt_page_context *context,
	const struct gmt_replay *replay, uint32_t id)
{
	const struct gmt_account_site *from = &replay->accounting.sites.items[id];
	uint64_t at_max = gmt_account_site_peak(&replay->accounting, id).bytes;
	struct gmt_page_site_state *site = gmt_page_site_state(context, id);

	if (!site || !gmt_page_account_touch(account, site, id))
		return false;
	site->live_bytes = from->live_bytes;
	site->saved_max_number = account->max_number;
	site->saved_bytes = at_max;
	/* A damaged recording may have a total below the live bytes. */
	site->allocated = from->total_bytes > from->live_bytes ? from->total_bytes : from->live_bytes;
	site->freed = site->allocated - from->live_bytes;
	site->allocs = from->alloc_count;
	site->frees = from->free_count;
	account->live_bytes += from->live_bytes;
	account->open.max_bytes += at_max;
	return true;
}

/* The prefix does not say of which phases the blocks at its maximum were. */
static void set_phases(struct gmt_page_account *account)
{
	uint64_t others = 0;

	for (unsigned i = 1; i < GMT_PAGE_PHASES; i++)
		others += account->phases[i].live_bytes;
	for (unsigned i = 0; i < GMT_PAGE_PHASES; i++) {
		account->phases[i].saved_max_number = account->max_number;
		account->phases[i].saved_bytes = i ? 0 : account->open.max_bytes;
		if (others > account->live_bytes)
			account->phases[i].live_bytes = 0;
	}
	account->phases[0].live_bytes =
		account->live_bytes - (others > account->live_bytes ? 0 : others);
}

/* A damaged prefix may have less at its peak than at its end. Then its end is its maximum. */
static void hold_most_at_end(struct gmt_page_account *account, struct gmt_page_context *context)
{
	account->open.max_bytes = account->live_bytes;
	for (size_t i = 0; i < account->touched.count; i++) {
		struct gmt_page_site_state *site = &context->sites.items[account->touched.items[i]];

		site->saved_bytes = site->live_bytes;
	}
}

bool gmt_page_prefix_set(struct gmt_page_account *account, struct gmt_page_context *context,
	const struct gmt_replay *replay, uint32_t id)
{
	const struct gmt_account *from = &replay->accounting.accounts.items[id];

	if (!gmt_page_account_begin(account, context))
		return false;
	account->live_bytes = account->open.max_bytes = 0;
	for (uint32_t i = 0; i < replay->accounting.sites.count; i++)
		if (replay->accounting.sites.items[i].account == id &&
			!set_site(account, context, replay, i))
			return false;
	if (account->open.max_bytes < account->live_bytes)
		hold_most_at_end(account, context);
	account->open.min_bytes = 0;
	account->max_stamp = from->peak_number ? from->peak_stamp : UINT64_MAX;
	account->reserved_bytes = from->reported_reserved_bytes;
	account->open.reserved_bytes = from->reported_reserved_peak_bytes;
	account->fine_max = account->open.max_bytes;
	set_phases(account);
	return true;
}
