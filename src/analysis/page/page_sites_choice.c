/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_sites_choice.h"

#include <stdlib.h>

struct ranked {
	uint64_t bytes;
	uint32_t site;
};

static int by_bytes(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static void choose(struct gmt_page_flags *chosen, uint32_t site, size_t *left)
{
	if (*left && !chosen->items[site]) {
		chosen->items[site] = true;
		--*left;
	}
}

/* Chooses up to `count` more sites, those with the most bytes by this key. */
static bool choose_by(struct gmt_page_flags *chosen, const struct gmt_sites *sites,
	enum gmt_sites_order key, size_t count, size_t *left)
{
	GMT_VEC(struct ranked) ranks = { 0 };
	size_t wanted = *left > count ? *left - count : 0;

	if (!gmt_vec_reserve(&ranks, sites->rows.count))
		return false;
	for (size_t i = 0; i < sites->rows.count; i++)
		*gmt_vec_push(&ranks) =
			(struct ranked){ gmt_sites_value(&sites->rows.items[i], key), sites->rows.items[i].id };
	if (ranks.count)
		qsort(ranks.items, ranks.count, sizeof(*ranks.items), by_bytes);
	for (size_t i = 0; i < ranks.count && *left > wanted; i++)
		choose(chosen, ranks.items[i].site, left);
	gmt_vec_fini(&ranks);
	return true;
}

bool gmt_page_choose_sites(const struct gmt_replay *replay, const struct gmt_sites *sites,
	size_t max_sites, struct gmt_page_flags *ret_chosen)
{
	size_t left = max_sites, refused = max_sites / 8;

	/* The reserved memory is zeroed. */
	if (!gmt_vec_reserve(ret_chosen, replay->accounting.sites.count + 1))
		return false;
	ret_chosen->count = replay->accounting.sites.count;
	for (size_t i = 0; i < replay->refusals.count && left > max_sites - refused; i++)
		choose(ret_chosen, replay->refusals.items[i].site, &left);
	if (sites->rows.count <= left) {
		for (size_t i = 0; i < sites->rows.count; i++)
			choose(ret_chosen, sites->rows.items[i].id, &left);
		return true;
	}
	return choose_by(ret_chosen, sites, GMT_SITES_BY_PEAK, left / 2, &left) &&
		choose_by(ret_chosen, sites, GMT_SITES_BY_LIVE, left / 2, &left) &&
		choose_by(ret_chosen, sites, GMT_SITES_BY_TOTAL, left, &left);
}
