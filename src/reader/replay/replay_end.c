/* SPDX-License-Identifier: MIT */
#include "reader/replay/replay_end.h"

/*
 * Copies the live bytes and blocks of all rows of the accounting to `lives`, which is empty.
 * Returns false from the function when out of memory.
 */
#define SAVE(lives, rows) \
	do { \
		if (!gmt_vec_reserve((lives), (rows)->count)) \
			return false; \
		for (size_t i = 0; i < (rows)->count; i++) \
			*gmt_vec_push(lives) = (struct gmt_replay_live){ (rows)->items[i].live_bytes, \
				(rows)->items[i].live_blocks }; \
	} while (0)

bool gmt_replay_end_save(struct gmt_replay *replay, uint64_t stamp)
{
	struct gmt_replay_end *end = &replay->end;
	const struct gmt_accounting *accounting = &replay->accounting;

	end->is_saved = true;
	end->stamp = stamp;
	if (!gmt_vec_reserve(&end->accounts, accounting->accounts.count))
		return false;
	for (size_t i = 0; i < accounting->accounts.count; i++)
		*gmt_vec_push(&end->accounts) = accounting->accounts.items[i];
	SAVE(&end->spaces, &accounting->spaces);
	SAVE(&end->sites, &accounting->sites);
	SAVE(&end->heaps, &accounting->heaps);
	return true;
}

struct gmt_account gmt_replay_end_account(const struct gmt_replay *replay, size_t account)
{
	return account < replay->end.accounts.count ? replay->end.accounts.items[account]
												: (struct gmt_account){ 0 };
}

struct gmt_replay_live gmt_replay_end_space(const struct gmt_replay *replay, size_t space)
{
	return space < replay->end.spaces.count ? replay->end.spaces.items[space]
											: (struct gmt_replay_live){ 0 };
}

struct gmt_replay_live gmt_replay_end_site(const struct gmt_replay *replay, size_t site)
{
	return site < replay->end.sites.count ? replay->end.sites.items[site]
										  : (struct gmt_replay_live){ 0 };
}

struct gmt_replay_live gmt_replay_end_heap(const struct gmt_replay *replay, size_t heap)
{
	return heap < replay->end.heaps.count ? replay->end.heaps.items[heap]
										  : (struct gmt_replay_live){ 0 };
}

void gmt_replay_end_fini(struct gmt_replay_end *end)
{
	gmt_vec_fini(&end->accounts);
	gmt_vec_fini(&end->spaces);
	gmt_vec_fini(&end->sites);
	gmt_vec_fini(&end->heaps);
}
