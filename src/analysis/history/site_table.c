/* SPDX-License-Identifier: MIT */
#include "analysis/history/site_table.h"

#include <stdlib.h>

#include "containers/bisect.h"

/*
 * Returns the own line of a stack. Many sites share a stack, so `own_lines_plus_1` keeps the
 * results: `own_lines_plus_1[stack]` is the index + 1, or 0 if not known yet.
 */
static uint32_t own_line_of(const struct gmt_traces *traces, uint32_t *own_lines_plus_1,
	uint32_t stack)
{
	if (!own_lines_plus_1[stack])
		own_lines_plus_1[stack] = gmt_traces_own_line(traces, stack) + 1;
	return own_lines_plus_1[stack] - 1;
}

static struct gmt_site site_row(const struct gmt_replay *replay, uint32_t id)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account_site *site = &accounting->sites.items[id];
	const struct gmt_account *account = &accounting->accounts.items[site->account];
	const struct gmt_replay_allocating_thread *allocating_thread = &replay->site_threads.items[id];
	struct gmt_account_amount peak = gmt_account_site_peak(accounting, id);
	struct gmt_replay_live at_work_end = gmt_replay_end_site(replay, id);

	return (struct gmt_site){
		.id = id,
		.layer = account->layer,
		.device = account->device,
		.space = accounting->spaces.items[site->space].space,
		.stack = replay->site_stacks.items[id],
		.thread = allocating_thread->has_several ? 0 : allocating_thread->thread,
		.live_at_end_bytes = at_work_end.bytes,
		.live_at_end_blocks = at_work_end.blocks,
		.live_at_exit_bytes = site->live_bytes,
		.live_at_exit_blocks = site->live_blocks,
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
	GMT_VEC(uint32_t) own_lines_plus_1 = { 0 };
	/* The reserved memory is zeroed. It is indexed by stack. */
	bool ok = gmt_vec_reserve(&own_lines_plus_1, traces->stacks.entries.count + 1);

	for (uint32_t id = 0; ok && id < accounting->sites.count; id++) {
		if (!held_something(accounting, id))
			continue;

		struct gmt_site *row = gmt_vec_push(&ret_sites->rows);
		ok = row;
		if (ok) {
			*row = site_row(replay, id);
			row->owner = gmt_owners_find(&traces->owners, row->stack, row->layer, row->device);
			row->own_line = own_line_of(traces, own_lines_plus_1.items, row->stack);
		}
	}
	gmt_vec_fini(&own_lines_plus_1);
	if (ok)
		return GMT_OK;
	gmt_sites_fini(ret_sites);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_order order)
{
	return order == GMT_SITES_BY_PEAK ? site->peak_bytes
		: order == GMT_SITES_BY_LIVE  ? site->live_at_end_bytes
									  : site->total_bytes;
}

static int largest_first(const struct gmt_site *a, const struct gmt_site *b,
	enum gmt_sites_order order)
{
	const enum gmt_sites_order orders[] = { order, GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE,
		GMT_SITES_BY_TOTAL };

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		uint64_t value_a = gmt_sites_value(a, orders[i]), value_b = gmt_sites_value(b, orders[i]);

		if (value_a != value_b)
			return value_a > value_b ? -1 : 1;
	}
	return (a->id > b->id) - (a->id < b->id);
}

#define COMPARE(name, order) \
	static int name(const void *a, const void *b) \
	{ \
		return largest_first(a, b, order); \
	}
COMPARE(by_peak, GMT_SITES_BY_PEAK)
COMPARE(by_live, GMT_SITES_BY_LIVE)
COMPARE(by_total, GMT_SITES_BY_TOTAL)
#undef COMPARE

static void sort_rows(struct gmt_site *rows, size_t count, enum gmt_sites_order order)
{
	if (count)
		qsort(rows, count, sizeof(*rows),
			order == GMT_SITES_BY_PEAK       ? by_peak
				: order == GMT_SITES_BY_LIVE ? by_live
											 : by_total);
}

void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_order order)
{
	sort_rows(sites->rows.items, sites->rows.count, order);
	sites->is_grouped = false;
}

static int compare_accounts(uint32_t layer, int32_t device, const struct gmt_site *site)
{
	if (layer != site->layer)
		return layer < site->layer ? -1 : 1;
	return (device > site->device) - (device < site->device);
}

static int by_account(const void *a, const void *b)
{
	const struct gmt_site *site = a;

	return compare_accounts(site->layer, site->device, b);
}

/*
 * Returns the first row that is not before `layer` and `device`. With `after`, returns the first
 * row after them.
 */
static size_t find_account(const struct gmt_sites *sites, uint32_t layer, int32_t device,
	bool after)
{
	return GMT_BISECT(at, sites->rows.count,
		compare_accounts(layer, device, &sites->rows.items[at]) > (after ? -1 : 0));
}

const struct gmt_site *gmt_sites_of_account(struct gmt_sites *sites, uint32_t layer, int32_t device,
	enum gmt_sites_order order, size_t *ret_count)
{
	if (!sites->is_grouped && sites->rows.count)
		qsort(sites->rows.items, sites->rows.count, sizeof(*sites->rows.items), by_account);
	sites->is_grouped = true;

	size_t first = find_account(sites, layer, device, false);
	*ret_count = find_account(sites, layer, device, true) - first;
	sort_rows(gmt_vec_at(&sites->rows, first), *ret_count, order);
	return gmt_vec_at(&sites->rows, first);
}

void gmt_sites_fini(struct gmt_sites *sites)
{
	gmt_vec_fini(&sites->rows);
}
