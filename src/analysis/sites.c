/* SPDX-License-Identifier: MIT */
#include "analysis/sites.h"

#include <stdlib.h>

enum gmt_status gmt_sites_init(struct gmt_sites *ret_sites, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	const struct gmt_books *books = &replay->books;

	for (uint32_t id = 0; id < books->sites.count; id++) {
		const struct gmt_books_site *site = &books->sites.items[id];
		const struct gmt_books_account *account = &books->accounts.items[site->account];
		const struct gmt_replay_maker *maker = &replay->site_makers.items[id];
		struct gmt_books_amount peak = gmt_books_site_peak(books, id);

		if (!site->alloc_count)
			continue;

		struct gmt_site *row = gmt_vec_push(&ret_sites->rows);
		if (!row) {
			gmt_sites_fini(ret_sites);
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		}
		*row = (struct gmt_site){
			.id = id,
			.layer = account->layer,
			.device = account->device,
			.space = books->spaces.items[site->space].space,
			.stack = replay->site_stacks.items[id],
			.own_line = gmt_traces_own_line(traces, replay->site_stacks.items[id]),
			.thread = maker->several ? 0 : maker->thread,
			.live_bytes = site->live_bytes,
			.live_blocks = site->live_blocks,
			.peak_bytes = peak.bytes,
			.peak_blocks = peak.blocks,
			.max_live_bytes = site->max_live_bytes,
			.total_bytes = site->total_bytes,
			.alloc_count = site->alloc_count,
			.free_count = site->free_count,
		};
	}
	return GMT_OK;
}

uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_key key)
{
	return key == GMT_SITES_BY_PEAK ? site->peak_bytes :
		key == GMT_SITES_BY_LIVE ? site->live_bytes : site->total_bytes;
}

static int largest_first(const struct gmt_site *a, const struct gmt_site *b, enum gmt_sites_key key)
{
	const enum gmt_sites_key keys[] = { key, GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE, GMT_SITES_BY_TOTAL };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		uint64_t left = gmt_sites_value(a, keys[i]), right = gmt_sites_value(b, keys[i]);

		if (left != right)
			return left > right ? -1 : 1;
	}
	return (a->id > b->id) - (a->id < b->id);
}

#define COMPARE(name, key) \
	static int name(const void *left, const void *right) \
	{ \
		return largest_first(left, right, key); \
	}
COMPARE(by_peak, GMT_SITES_BY_PEAK)
COMPARE(by_live, GMT_SITES_BY_LIVE)
COMPARE(by_total, GMT_SITES_BY_TOTAL)
#undef COMPARE

void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_key key)
{
	if (sites->rows.count)
		qsort(sites->rows.items, sites->rows.count, sizeof(*sites->rows.items),
			key == GMT_SITES_BY_PEAK ? by_peak : key == GMT_SITES_BY_LIVE ? by_live : by_total);
}

void gmt_sites_fini(struct gmt_sites *sites)
{
	gmt_vec_fini(&sites->rows);
}
