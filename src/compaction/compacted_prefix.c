/* SPDX-License-Identifier: MIT */
#include "compaction/compacted_prefix.h"

#include <string.h>

bool gmt_compacted_prefix_takes(uint32_t kind)
{
	return (kind >= GMT_RECORD_FOLD && kind <= GMT_RECORD_PAST_ANSWER) ||
		kind == GMT_RECORD_PAST_COUNTER || kind == GMT_RECORD_PAST_CURVE;
}

static bool set_summary(struct gmt_compacted_prefix *prefix, const struct gmt_fold *row)
{
	prefix->exists = true;
	prefix->cut_stamp = row->stamp;
	prefix->events = row->events;
	prefix->survivors = row->survivors;
	prefix->merged_sites = row->merged_sites;
	prefix->oom_retries = row->oom_retries;
	prefix->anomalies = (struct gmt_accounting_anomalies){
		.unknown_frees = row->unknown_frees,
		.missed_frees = row->missed_frees,
		.size_mismatches = row->size_mismatches,
		.refused_frees = row->refused_frees,
		.impossible_sizes = row->impossible_sizes,
	};
	prefix->calls.count = prefix->open_ooms.count = 0;
	if (!gmt_vec_reserve(&prefix->calls, row->calls.count) ||
		!gmt_vec_reserve(&prefix->open_ooms, row->open_ooms.count))
		return false;
	prefix->calls.count = row->calls.count;
	if (row->calls.count)
		memcpy(prefix->calls.items, row->calls.items,
			row->calls.count * sizeof(*prefix->calls.items));
	prefix->open_ooms.count = row->open_ooms.count;
	if (row->open_ooms.count)
		memcpy(prefix->open_ooms.items, row->open_ooms.items,
			row->open_ooms.count * sizeof(*prefix->open_ooms.items));
	return true;
}

bool gmt_compacted_prefix_is_open(const struct gmt_compacted_prefix *prefix, uint32_t thread,
	uint64_t stamp)
{
	for (size_t i = 0; i + 1 < prefix->open_ooms.count; i += 2)
		if (prefix->open_ooms.items[i] == thread && prefix->open_ooms.items[i + 1] == stamp)
			return true;
	return false;
}

#define APPEND(vec, rows, number) \
	(gmt_vec_reserve((vec), (number)) && \
		(memcpy((vec)->items + (vec)->count, (rows), (number) * sizeof(*(vec)->items)), \
			(vec)->count += (number), true))

bool gmt_compacted_prefix_add(struct gmt_compacted_prefix *prefix, uint32_t kind, const void *rows,
	uint32_t count)
{
	/* A file has only one prefix. */
	if (prefix->exists || !count)
		return true;
	switch (kind) {
	case GMT_RECORD_FOLD:
		return set_summary(prefix, rows);
	case GMT_RECORD_PAST_ACCOUNT:
		return APPEND(&prefix->accounts, rows, count);
	case GMT_RECORD_PAST_SPACE:
		return APPEND(&prefix->spaces, rows, count);
	case GMT_RECORD_PAST_HEAP:
		return APPEND(&prefix->heaps, rows, count);
	case GMT_RECORD_PAST_SITE:
		return APPEND(&prefix->sites, rows, count);
	case GMT_RECORD_PAST_STEP:
		return APPEND(&prefix->steps, rows, count);
	case GMT_RECORD_PAST_ANSWER:
		return APPEND(&prefix->answers, rows, count);
	case GMT_RECORD_PAST_COUNTER:
		return APPEND(&prefix->counters, rows, count);
	case GMT_RECORD_PAST_CURVE:
		return APPEND(&prefix->curves, rows, count);
	}
	return true;
}

/* Limits an impossible size, so that sums cannot wrap. */
static uint64_t limit_bytes(uint64_t bytes)
{
	return bytes > GMT_ACCOUNTING_MAX_BYTES ? GMT_ACCOUNTING_MAX_BYTES : bytes;
}

static uint64_t sum_of(uint64_t sum, uint64_t bytes)
{
	return gmt_saturating_add_i64(sum, limit_bytes(bytes));
}

static bool is_known(uint8_t layer, uint8_t space)
{
	return layer < GMT_ACCOUNTING_LAYERS && gmt_layer_name(layer) && gmt_space_name(space);
}

/* Clears the totals: the survivors counted events that the past_* rows count again. */
static void clear_totals(struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < accounting->accounts.count; i++) {
		struct gmt_account *account = &accounting->accounts.items[i];

		*account = (struct gmt_account){
			.live_bytes = account->live_bytes,
			.live_blocks = account->live_blocks,
			.layer = account->layer,
			.device = account->device,
			.peak_number = 1,
		};
	}
	for (size_t i = 0; i < accounting->spaces.count; i++)
		accounting->spaces.items[i].peak_bytes = accounting->spaces.items[i].peak_stamp = 0;
	for (size_t i = 0; i < accounting->heaps.count; i++) {
		struct gmt_account_heap *heap = &accounting->heaps.items[i];

		*heap = (struct gmt_account_heap){
			.live_bytes = heap->live_bytes,
			.live_blocks = heap->live_blocks,
			.peak_number = 1,
		};
	}
	for (size_t i = 0; i < accounting->sites.count; i++) {
		struct gmt_account_site *site = &accounting->sites.items[i];

		*site = (struct gmt_account_site){
			.account = site->account,
			.space = site->space,
			.heap_plus_1 = site->heap_plus_1,
			.live_bytes = site->live_bytes,
			.live_blocks = site->live_blocks,
			.max_live_bytes = site->live_bytes,
			.saved_peak_number = 1,
			.heap_saved_peak_number = 1,
		};
	}
}

static bool set_account(struct gmt_accounting *accounting, const struct gmt_past_account *row,
	uint64_t *mismatches)
{
	struct gmt_account *account;

	if (row->layer >= GMT_ACCOUNTING_LAYERS)
		return true;
	account = gmt_accounting_get_account(accounting, row->layer, row->device);
	if (!account)
		return false;
	*mismatches +=
		account->live_bytes != row->live_bytes || account->live_blocks != row->live_blocks;
	account->peak_number = 1;
	account->peak_stamp = row->peak_stamp;
	account->alloc_count = row->alloc_count;
	account->free_count = row->free_count;
	account->total_bytes = sum_of(0, row->total_bytes);
	account->refused_count = row->refused_count;
	account->has_totals = row->has_totals;
	account->reported_allocated_bytes = row->reported_allocated_bytes;
	account->reported_allocated_peak_bytes = row->reported_allocated_peak_bytes;
	account->reported_reserved_bytes = row->reported_reserved_bytes;
	account->reported_reserved_peak_bytes = row->reported_reserved_peak_bytes;
	account->unseen_bytes = row->unseen_bytes;
	account->reported_disagreements = row->reported_disagreements;
	return true;
}

static bool get_heap(struct gmt_event_interpreter *interpreter, const struct gmt_past_heap *row,
	const struct gmt_compacted_prefix_names *names, uint32_t *ret_row)
{
	struct gmt_interpret_heap_group group = {
		.name = names->name(names->user, row->name),
		.device = row->device,
		.source = row->source,
	};

	return gmt_interpret_intern_heap_group(interpreter, &group, ret_row);
}

static bool set_heap(struct gmt_event_interpreter *interpreter, const struct gmt_past_heap *row,
	const struct gmt_compacted_prefix_names *names, uint32_t *ret_row)
{
	struct gmt_interpret_heap_group *heap;
	struct gmt_account_heap *accounting;

	if (!get_heap(interpreter, row, names, ret_row))
		return false;
	heap = &interpreter->heap_groups->items[*ret_row];
	heap->heaps = row->heaps;
	heap->max_size_bytes = limit_bytes(row->max_size_bytes);
	heap->swept_blocks = row->swept_blocks;
	heap->swept_bytes = row->swept_bytes;
	accounting = &interpreter->accounting->heaps.items[*ret_row];
	accounting->peak_number = 1;
	accounting->peak_stamp = row->peak_stamp;
	accounting->alloc_count = row->alloc_count;
	accounting->free_count = row->free_count;
	accounting->total_bytes = sum_of(0, row->total_bytes);
	return true;
}

static bool get_site(struct gmt_event_interpreter *interpreter, const struct gmt_past_site *row,
	uint32_t heap_plus_1, const struct gmt_compacted_prefix_names *names, uint32_t *ret_site)
{
	struct gmt_interpret_event event = {
		.layer = row->layer,
		.device = row->device,
		.space = row->space,
		.thread = row->thread,
	};

	return names->trace(names->user, row, &event.stack) &&
		gmt_interpret_get_site(interpreter, &event, heap_plus_1, ret_site);
}

/*
 * Adds what a site held at the peak. A peak is the sum over its sites, even if the file states
 * another peak (count_peak_mismatches). When the peak saturates, the site gets only what the peak
 * still takes.
 */
static void add_peak(uint64_t *peak_bytes, uint64_t *peak_blocks, uint64_t *site_bytes,
	uint64_t *site_blocks, struct gmt_account_amount held)
{
	uint64_t bytes = sum_of(*peak_bytes, held.bytes);

	*site_bytes += bytes - *peak_bytes;
	*site_blocks = gmt_saturating_add_u64(*site_blocks, held.blocks);
	*peak_bytes = bytes;
	*peak_blocks = gmt_saturating_add_u64(*peak_blocks, held.blocks);
}

static void add_peaks(struct gmt_accounting *accounting, struct gmt_account_site *site,
	const struct gmt_past_site *row)
{
	struct gmt_account *account = &accounting->accounts.items[site->account];

	add_peak(&account->peak_bytes, &account->peak_blocks, &site->saved_bytes, &site->saved_blocks,
		(struct gmt_account_amount){ row->peak_bytes, row->peak_blocks });
	if (!site->heap_plus_1)
		return;

	struct gmt_account_heap *heap = &accounting->heaps.items[site->heap_plus_1 - 1];

	add_peak(&heap->peak_bytes, &heap->peak_blocks, &site->heap_saved_bytes,
		&site->heap_saved_blocks,
		(struct gmt_account_amount){ row->heap_peak_bytes, row->heap_peak_blocks });
}

/*
 * Two traces of the compaction may be one trace for the interpreter's owner. Then their rows are
 * added.
 */
static bool set_site(struct gmt_event_interpreter *interpreter, const struct gmt_past_site *row,
	uint32_t heap_plus_1, const struct gmt_compacted_prefix_names *names)
{
	struct gmt_account_site *site;
	uint32_t id;

	if (!get_site(interpreter, row, heap_plus_1, names, &id))
		return false;
	site = &interpreter->accounting->sites.items[id];
	site->saved_peak_number = 1;
	site->heap_saved_peak_number = 1;
	add_peaks(interpreter->accounting, site, row);
	if (limit_bytes(row->max_live_bytes) > site->max_live_bytes)
		site->max_live_bytes = limit_bytes(row->max_live_bytes);
	site->total_bytes = sum_of(site->total_bytes, row->total_bytes);
	site->alloc_count = gmt_saturating_add_u64(site->alloc_count, row->alloc_count);
	site->free_count = gmt_saturating_add_u64(site->free_count, row->free_count);
	site->refused_count = gmt_saturating_add_u64(site->refused_count, row->refused_count);
	return names->set_site(names->user, row, id);
}

static bool set_spaces(const struct gmt_compacted_prefix *prefix, struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < prefix->spaces.count; i++) {
		const struct gmt_past_space *row = &prefix->spaces.items[i];
		struct gmt_account_space *space;

		if (!is_known(row->layer, row->space))
			continue;
		space = gmt_accounting_get_space(accounting, row->layer, row->device, row->space);
		if (!space)
			return false;
		space->peak_bytes = limit_bytes(row->peak_bytes);
		space->peak_stamp = row->peak_stamp;
	}
	return true;
}

/*
 * Counts accounts and heaps whose peak in the file differs or is missing. `heaps` maps a row to the
 * interpreter's heap.
 */
static uint64_t count_peak_mismatches(const struct gmt_compacted_prefix *prefix,
	const struct gmt_accounting *accounting, const uint32_t *heaps)
{
	uint64_t mismatches = 0, stated = 0, held = 0;

	for (size_t i = 0; i < prefix->accounts.count; i++) {
		const struct gmt_past_account *row = &prefix->accounts.items[i];
		const struct gmt_account *account =
			gmt_accounting_find_account(accounting, row->layer, row->device);

		if (row->layer >= GMT_ACCOUNTING_LAYERS)
			continue;
		mismatches +=
			account->peak_bytes != row->peak_bytes || account->peak_blocks != row->peak_blocks;
		stated = gmt_saturating_add_u64(stated, row->peak_bytes);
	}
	for (size_t i = 0; i < accounting->accounts.count; i++)
		held = gmt_saturating_add_u64(held, accounting->accounts.items[i].peak_bytes);
	for (size_t i = 0; i < prefix->heaps.count; i++) {
		const struct gmt_past_heap *row = &prefix->heaps.items[i];
		const struct gmt_account_heap *heap = &accounting->heaps.items[heaps[i]];

		mismatches += heap->peak_bytes != row->peak_bytes || heap->peak_blocks != row->peak_blocks;
	}
	return mismatches + (held != stated);
}

/*
 * Returns the heap of a site's blocks, plus 1; 0: no heap. `heaps` maps a row to the interpreter's
 * heap.
 */
static uint32_t heap_of(const struct gmt_compacted_prefix *prefix, const struct gmt_past_site *row,
	const uint32_t *heaps)
{
	return row->heap && row->heap <= prefix->heaps.count ? heaps[row->heap - 1] + 1 : 0;
}

bool gmt_compacted_prefix_prepare(const struct gmt_compacted_prefix *prefix,
	struct gmt_event_interpreter *interpreter, const struct gmt_compacted_prefix_names *names)
{
	GMT_VEC(uint32_t) heaps = { 0 };
	bool done = gmt_vec_reserve(&heaps, prefix->heaps.count);
	uint32_t site;

	for (size_t i = 0; done && i < prefix->accounts.count; i++)
		done = prefix->accounts.items[i].layer >= GMT_ACCOUNTING_LAYERS ||
			gmt_accounting_get_account(interpreter->accounting, prefix->accounts.items[i].layer,
				prefix->accounts.items[i].device);
	done = done && set_spaces(prefix, interpreter->accounting);
	for (size_t i = 0; done && i < prefix->heaps.count; i++)
		done = get_heap(interpreter, &prefix->heaps.items[i], names, &heaps.items[i]);
	for (size_t i = 0; done && i < prefix->sites.count; i++) {
		const struct gmt_past_site *row = &prefix->sites.items[i];

		if (is_known(row->layer, row->space))
			done = get_site(interpreter, row, heap_of(prefix, row, heaps.items), names, &site);
	}
	gmt_vec_fini(&heaps);
	return done;
}

bool gmt_compacted_prefix_set_accounting(const struct gmt_compacted_prefix *prefix,
	struct gmt_event_interpreter *interpreter, const struct gmt_compacted_prefix_names *names,
	uint64_t *ret_mismatches)
{
	GMT_VEC(uint32_t) heaps = { 0 };
	bool done = gmt_vec_reserve(&heaps, prefix->heaps.count);

	*ret_mismatches = 0;
	clear_totals(interpreter->accounting);
	for (size_t i = 0; done && i < prefix->accounts.count; i++)
		done = set_account(interpreter->accounting, &prefix->accounts.items[i], ret_mismatches);
	done = done && set_spaces(prefix, interpreter->accounting);
	for (size_t i = 0; done && i < prefix->heaps.count; i++)
		done = set_heap(interpreter, &prefix->heaps.items[i], names, &heaps.items[i]);
	for (size_t i = 0; done && i < prefix->sites.count; i++) {
		const struct gmt_past_site *row = &prefix->sites.items[i];

		if (is_known(row->layer, row->space))
			done = set_site(interpreter, row, heap_of(prefix, row, heaps.items), names);
	}
	if (done)
		*ret_mismatches += count_peak_mismatches(prefix, interpreter->accounting, heaps.items);
	interpreter->accounting->anomalies = prefix->anomalies;
	interpreter->physical.unknown_handles = 0;
	gmt_vec_fini(&heaps);
	return done;
}

void gmt_compacted_prefix_fini(struct gmt_compacted_prefix *prefix)
{
	gmt_vec_fini(&prefix->accounts);
	gmt_vec_fini(&prefix->spaces);
	gmt_vec_fini(&prefix->heaps);
	gmt_vec_fini(&prefix->sites);
	gmt_vec_fini(&prefix->steps);
	gmt_vec_fini(&prefix->answers);
	gmt_vec_fini(&prefix->counters);
	gmt_vec_fini(&prefix->curves);
	gmt_vec_fini(&prefix->calls);
	gmt_vec_fini(&prefix->open_ooms);
}
