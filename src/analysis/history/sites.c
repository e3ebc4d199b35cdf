/* SPDX-License-Identifier: MIT */
#include "analysis/history/sites.h"

#include <stdlib.h>

#include "containers/bisect.h"

/*
 * Returns the own line of a stack. Many sites share a stack, so `known` caches index + 1 by stack.
 */
static uint32_t own_line_of(const struct gmt_traces *traces, uint32_t *known, uint32_t stack)
{
	if (!known[stack])
		known[stack] = gmt_traces_own_line(traces, stack) + 1;
	return known[stack] - 1;
}

static struct gmt_site site_row(const struct gmt_replay *replay, uint32_t id)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account_site *site = &accounting->sites.items[id];
	const struct gmt_account *account = &accounting->accounts.items[site->account];
	const struct gmt_replay_allocating_thread *allocating_thread = &replay->site_threads.items[id];
	struct gmt_account_amount peak = gmt_account_site_peak(accounting, id);
	struct gmt_replay_live end = gmt_replay_end_site(replay, id);

	return (struct gmt_site){
		.id = id,
		.layer = account->layer,
		.device = account->device,
		.space = accounting->spaces.items[site->space].space,
		.stack = replay->site_stacks.items[id],
		.thread = allocating_thread->several ? 0 : allocating_thread->thread,
		.live_bytes = end.bytes,
		.live_blocks = end.blocks,
		.left_bytes = site->live_bytes,
		.left_blocks = site->live_blocks,
		.peak_bytes = peak.bytes,
		.peak_blocks = peak.blocks,
		.max_live_bytes = site->max_live_bytes,
		.total_bytes = site->total_bytes,
		.alloc_count = site->alloc_count,
		.free_count = site->free_count,
	};
}

/*
 * Returns whether a site ever had a block. A site with only refused requests had no block. A
 * damaged compacted prefix may leave blocks without a known allocation.
 */
static bool held_something(const struct gmt_accounting *accounting, uint32_t id)
{
	const struct gmt_account_site *site = &accounting->sites.items[id];

	return site->alloc_count || site->live_blocks || gmt_account_site_peak(accounting, id).bytes;
}

enum gmt_status gmt_sites_compute(struct gmt_sites *ret_sites, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	GMT_VEC(uint32_t) own_lines = { 0 };
	/* The reserved memory is zeroed. It is indexed by stack. */
	bool done = gmt_vec_reserve(&own_lines, traces->stacks.entries.count + 1);

	for (uint32_t id = 0; done && id < accounting->sites.count; id++) {
		if (!held_something(accounting, id))
			continue;

		struct gmt_site *row = gmt_vec_push(&ret_sites->rows);
		done = row;
		if (done) {
			*row = site_row(replay, id);
			row->owner = gmt_owners_find(&traces->owners, row->stack, row->layer, row->device);
			row->own_line = own_line_of(traces, own_lines.items, row->stack);
		}
	}
	gmt_vec_fini(&own_lines);
	if (done)
		return GMT_OK;
	gmt_sites_fini(ret_sites);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_order key)
{
	return key == GMT_SITES_BY_PEAK ? site->peak_bytes
		: key == GMT_SITES_BY_LIVE  ? site->live_bytes
									: site->total_bytes;
}

static int largest_first(const struct gmt_site *a, const struct gmt_site *b,
	enum gmt_sites_order key)
{
	const enum gmt_sites_order keys[] = { key, GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE,
		GMT_SITES_BY_TOTAL };

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

static void sort_rows(struct gmt_site *rows, size_t count, enum gmt_sites_order key)
{
	if (count)
		qsort(rows, count, sizeof(*rows),
			key == GMT_SITES_BY_PEAK       ? by_peak
				: key == GMT_SITES_BY_LIVE ? by_live
										   : by_total);
}

void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_order key)
{
	sort_rows(sites->rows.items, sites->rows.count, key);
	sites->grouped = false;
}

static int compare_places(uint32_t layer, int32_t device, const struct gmt_site *site)
{
	if (layer != site->layer)
		return layer < site->layer ? -1 : 1;
	return (device > site->device) - (device < site->device);
}

static int by_place(const void *left, const void *right)
{
	const struct gmt_site *a = left;

	return compare_places(a->layer, a->device, right);
}

/*
 * Returns the first row that is not before `layer` and `device`. With `behind`, returns the first
 * row after them.
 */
static size_t find_place(const struct gmt_sites *sites, uint32_t layer, int32_t device, bool behind)
{
	return GMT_BISECT(at, sites->rows.count,
		compare_places(layer, device, &sites->rows.items[at]) > (behind ? -1 : 0));
}

const struct gmt_site *gmt_sites_of(struct gmt_sites *sites, uint32_t layer, int32_t device,
	enum gmt_sites_order key, size_t *ret_count)
{
	if (!sites->grouped && sites->rows.count)
		qsort(sites->rows.items, sites->rows.count, sizeof(*sites->rows.items), by_place);
	sites->grouped = true;

	size_t first = find_place(sites, layer, device, false);
	*ret_count = find_place(sites, layer, device, true) - first;
	sort_rows(gmt_vec_at(&sites->rows, first), *ret_count, key);
	return gmt_vec_at(&sites->rows, first);
}

void gmt_sites_fini(struct gmt_sites *sites)
{
	gmt_vec_fini(&sites->rows);
}
