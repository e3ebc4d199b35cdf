/* SPDX-License-Identifier: MIT */
#include "compaction/compacted_prefix.h"

#include <string.h>

bool gmt_past_takes(uint32_t kind)
{
	return (kind >= GMT_RECORD_FOLD && kind <= GMT_RECORD_PAST_ANSWER) || kind == GMT_RECORD_PAST_COUNTER ||
		kind == GMT_RECORD_PAST_CURVE;
}

static bool add_fold(struct gmt_past *past, const struct gmt_fold *row)
{
	past->has_fold = true;
	past->fold = (struct gmt_fold_row){
		.stamp = row->stamp, .events = row->events, .survivors = row->survivors, .merged_sites = row->merged_sites,
		.anomalies = {
			.unknown_frees = row->unknown_frees, .missed_frees = row->missed_frees,
			.size_mismatches = row->size_mismatches, .refused_frees = row->refused_frees,
			.impossible_sizes = row->impossible_sizes,
		},
	};
	past->fold.oom_retries = row->oom_retries;
	past->calls.count = past->open_ooms.count = 0;
	if (!gmt_vec_reserve(&past->calls, row->calls.count) || !gmt_vec_reserve(&past->open_ooms, row->open_ooms.count))
		return false;
	past->calls.count = row->calls.count;
	if (row->calls.count)
		memcpy(past->calls.items, row->calls.items, row->calls.count * sizeof(*past->calls.items));
	past->open_ooms.count = row->open_ooms.count;
	if (row->open_ooms.count)
		memcpy(past->open_ooms.items, row->open_ooms.items, row->open_ooms.count * sizeof(*past->open_ooms.items));
	return true;
}

bool gmt_past_is_open(const struct gmt_past *past, uint32_t thread, uint64_t stamp)
{
	for (size_t i = 0; i + 1 < past->open_ooms.count; i += 2)
		if (past->open_ooms.items[i] == thread && past->open_ooms.items[i + 1] == stamp)
			return true;
	return false;
}

#define APPEND(vec, rows, number) \
	(gmt_vec_reserve((vec), (number)) && \
		(memcpy((vec)->items + (vec)->count, (rows), (number) * sizeof(*(vec)->items)), (vec)->count += (number), true))

bool gmt_past_add(struct gmt_past *past, uint32_t kind, const void *rows, uint32_t count)
{
	/* There is one past in a file. */
	if (past->has_fold || !count)
		return true;
	switch (kind) {
	case GMT_RECORD_FOLD:
		return add_fold(past, rows);
	case GMT_RECORD_PAST_ACCOUNT:
		return APPEND(&past->accounts, rows, count);
	case GMT_RECORD_PAST_SPACE:
		return APPEND(&past->spaces, rows, count);
	case GMT_RECORD_PAST_HEAP:
		return APPEND(&past->heaps, rows, count);
	case GMT_RECORD_PAST_SITE:
		return APPEND(&past->sites, rows, count);
	case GMT_RECORD_PAST_STEP:
		return APPEND(&past->steps, rows, count);
	case GMT_RECORD_PAST_ANSWER:
		return APPEND(&past->answers, rows, count);
	case GMT_RECORD_PAST_COUNTER:
		return APPEND(&past->counters, rows, count);
	case GMT_RECORD_PAST_CURVE:
		return APPEND(&past->curves, rows, count);
	}
	return true;
}

/* What cannot be is as nothing: sums of it must not wrap. */
static uint64_t sane(uint64_t bytes)
{
	return bytes > GMT_BOOKS_MAX_BYTES ? GMT_BOOKS_MAX_BYTES : bytes;
}

static uint64_t sum_of(uint64_t sum, uint64_t bytes)
{
	return gmt_books_sum_bytes(sum, sane(bytes));
}

static bool is_known(uint8_t layer, uint8_t space)
{
	return layer < GMT_BOOKS_LAYERS && gmt_layer_name(layer) && gmt_space_name(space);
}

/* The past begins anew: the survivors have counted what the rows count again. */
static void clear_books(struct gmt_books *books)
{
	for (size_t i = 0; i < books->accounts.count; i++) {
		struct gmt_books_account *account = &books->accounts.items[i];

		*account = (struct gmt_books_account){
			.live_bytes = account->live_bytes, .live_blocks = account->live_blocks,
			.layer = account->layer, .device = account->device, .epoch = 1,
		};
	}
	for (size_t i = 0; i < books->spaces.count; i++)
		books->spaces.items[i].peak_bytes = books->spaces.items[i].peak_stamp = 0;
	for (size_t i = 0; i < books->heaps.count; i++) {
		struct gmt_books_heap *heap = &books->heaps.items[i];

		*heap = (struct gmt_books_heap){
			.live_bytes = heap->live_bytes, .live_blocks = heap->live_blocks, .epoch = 1,
		};
	}
	for (size_t i = 0; i < books->sites.count; i++) {
		struct gmt_books_site *site = &books->sites.items[i];

		*site = (struct gmt_books_site){
			.account = site->account, .space = site->space, .heap_plus_1 = site->heap_plus_1,
			.live_bytes = site->live_bytes, .live_blocks = site->live_blocks,
			.max_live_bytes = site->live_bytes, .saved_epoch = 1, .heap_saved_epoch = 1,
		};
	}
}

static bool set_account(struct gmt_books *books, const struct gmt_past_account *row, uint64_t *misfits)
{
	struct gmt_books_account *account;

	if (row->layer >= GMT_BOOKS_LAYERS)
		return true;
	account = gmt_books_get_account(books, row->layer, row->device);
	if (!account)
		return false;
	*misfits += account->live_bytes != row->live_bytes || account->live_blocks != row->live_blocks;
	account->epoch = 1;
	account->peak_stamp = row->peak_stamp;
	account->alloc_count = row->alloc_count;
	account->free_count = row->free_count;
	account->total_bytes = sum_of(0, row->total_bytes);
	account->refused_count = row->refused_count;
	account->has_totals = row->has_totals;
	account->told_allocated_bytes = row->told_allocated_bytes;
	account->told_allocated_peak_bytes = row->told_allocated_peak_bytes;
	account->told_reserved_bytes = row->told_reserved_bytes;
	account->told_reserved_peak_bytes = row->told_reserved_peak_bytes;
	account->unseen_bytes = row->unseen_bytes;
	account->told_disagreements = row->told_disagreements;
	return true;
}

static bool get_heap(struct gmt_player *player, const struct gmt_past_heap *row, const struct gmt_past_names *names,
	uint32_t *ret_row)
{
	struct gmt_player_heap about = {
		.name = names->name(names->user, row->name), .device = row->device, .source = row->source,
	};

	return gmt_player_get_heap(player, &about, ret_row);
}

static bool set_heap(struct gmt_player *player, const struct gmt_past_heap *row, const struct gmt_past_names *names,
	uint32_t *ret_row)
{
	struct gmt_player_heap *heap;
	struct gmt_books_heap *books;

	if (!get_heap(player, row, names, ret_row))
		return false;
	heap = &player->heaps->items[*ret_row];
	heap->heaps = row->heaps;
	heap->max_size_bytes = sane(row->max_size_bytes);
	heap->swept_blocks = row->swept_blocks;
	heap->swept_bytes = row->swept_bytes;
	books = &player->books->heaps.items[*ret_row];
	books->epoch = 1;
	books->peak_stamp = row->peak_stamp;
	books->alloc_count = row->alloc_count;
	books->free_count = row->free_count;
	books->total_bytes = sum_of(0, row->total_bytes);
	return true;
}

static bool get_site(struct gmt_player *player, const struct gmt_past_site *row, uint32_t heap_plus_1,
	const struct gmt_past_names *names, uint32_t *ret_site)
{
	struct gmt_player_event about = {
		.layer = row->layer, .device = row->device, .space = row->space, .thread = row->thread,
	};

	return names->place(names->user, row, &about.place) && gmt_player_get_site(player, &about, heap_plus_1, ret_site);
}

/*
 * A peak is the sum of what its sites held then, whatever else the file says of it (count_peak_misfits). A site has no more
 * than its peak still takes.
 */
static void add_peak(uint64_t *peak_bytes, uint64_t *peak_blocks, uint64_t *site_bytes, uint64_t *site_blocks,
	struct gmt_books_amount held)
{
	uint64_t bytes = sum_of(*peak_bytes, held.bytes);

	*site_bytes += bytes - *peak_bytes;
	*site_blocks = gmt_books_sum(*site_blocks, held.blocks);
	*peak_bytes = bytes;
	*peak_blocks = gmt_books_sum(*peak_blocks, held.blocks);
}

static void add_peaks(struct gmt_books *books, struct gmt_books_site *site, const struct gmt_past_site *row)
{
	struct gmt_books_account *account = &books->accounts.items[site->account];

	add_peak(&account->peak_bytes, &account->peak_blocks, &site->saved_bytes, &site->saved_blocks,
		(struct gmt_books_amount){ row->peak_bytes, row->peak_blocks });
	if (!site->heap_plus_1)
		return;

	struct gmt_books_heap *heap = &books->heaps.items[site->heap_plus_1 - 1];

	add_peak(&heap->peak_bytes, &heap->peak_blocks, &site->heap_saved_bytes, &site->heap_saved_blocks,
		(struct gmt_books_amount){ row->heap_peak_bytes, row->heap_peak_blocks });
}

/* Places that the fold told apart may be one to the player: their rows are added. */
static bool set_site(struct gmt_player *player, const struct gmt_past_site *row, uint32_t heap_plus_1,
	const struct gmt_past_names *names)
{
	struct gmt_books_site *site;
	uint32_t id;

	if (!get_site(player, row, heap_plus_1, names, &id))
		return false;
	site = &player->books->sites.items[id];
	site->saved_epoch = 1;
	site->heap_saved_epoch = 1;
	add_peaks(player->books, site, row);
	if (sane(row->max_live_bytes) > site->max_live_bytes)
		site->max_live_bytes = sane(row->max_live_bytes);
	site->total_bytes = sum_of(site->total_bytes, row->total_bytes);
	site->alloc_count = gmt_books_sum(site->alloc_count, row->alloc_count);
	site->free_count = gmt_books_sum(site->free_count, row->free_count);
	site->refused_count = gmt_books_sum(site->refused_count, row->refused_count);
	return names->set_site(names->user, row, id);
}

static bool set_spaces(const struct gmt_past *past, struct gmt_books *books)
{
	for (size_t i = 0; i < past->spaces.count; i++) {
		const struct gmt_past_space *row = &past->spaces.items[i];
		struct gmt_books_space *space;

		if (!is_known(row->layer, row->space))
			continue;
		space = gmt_books_get_space(books, row->layer, row->device, row->space);
		if (!space)
			return false;
		space->peak_bytes = sane(row->peak_bytes);
		space->peak_stamp = row->peak_stamp;
	}
	return true;
}

/* Accounts and heaps of which the file says another peak, or none. `heaps` has the player's by row. */
static uint64_t count_peak_misfits(const struct gmt_past *past, const struct gmt_books *books, const uint32_t *heaps)
{
	uint64_t misfits = 0, said = 0, held = 0;

	for (size_t i = 0; i < past->accounts.count; i++) {
		const struct gmt_past_account *row = &past->accounts.items[i];
		const struct gmt_books_account *account = gmt_books_find_account(books, row->layer, row->device);

		if (row->layer >= GMT_BOOKS_LAYERS)
			continue;
		misfits += account->peak_bytes != row->peak_bytes || account->peak_blocks != row->peak_blocks;
		said = gmt_books_sum(said, row->peak_bytes);
	}
	for (size_t i = 0; i < books->accounts.count; i++)
		held = gmt_books_sum(held, books->accounts.items[i].peak_bytes);
	for (size_t i = 0; i < past->heaps.count; i++) {
		const struct gmt_past_heap *row = &past->heaps.items[i];
		const struct gmt_books_heap *heap = &books->heaps.items[heaps[i]];

		misfits += heap->peak_bytes != row->peak_bytes || heap->peak_blocks != row->peak_blocks;
	}
	return misfits + (held != said);
}

/* The heap that a site's blocks are in, from 1; 0: none. `heaps` has the player's by row. */
static uint32_t heap_of(const struct gmt_past *past, const struct gmt_past_site *row, const uint32_t *heaps)
{
	return row->heap && row->heap <= past->heaps.count ? heaps[row->heap - 1] + 1 : 0;
}

bool gmt_past_prepare(const struct gmt_past *past, struct gmt_player *player, const struct gmt_past_names *names)
{
	GMT_VEC(uint32_t) heaps = { 0 };
	bool done = gmt_vec_reserve(&heaps, past->heaps.count);
	uint32_t site;

	for (size_t i = 0; done && i < past->accounts.count; i++)
		done = past->accounts.items[i].layer >= GMT_BOOKS_LAYERS ||
			gmt_books_get_account(player->books, past->accounts.items[i].layer, past->accounts.items[i].device);
	done = done && set_spaces(past, player->books);
	for (size_t i = 0; done && i < past->heaps.count; i++)
		done = get_heap(player, &past->heaps.items[i], names, &heaps.items[i]);
	for (size_t i = 0; done && i < past->sites.count; i++) {
		const struct gmt_past_site *row = &past->sites.items[i];

		if (is_known(row->layer, row->space))
			done = get_site(player, row, heap_of(past, row, heaps.items), names, &site);
	}
	gmt_vec_fini(&heaps);
	return done;
}

bool gmt_past_set_books(const struct gmt_past *past, struct gmt_player *player, const struct gmt_past_names *names,
	uint64_t *ret_misfits)
{
	GMT_VEC(uint32_t) heaps = { 0 };
	bool done = gmt_vec_reserve(&heaps, past->heaps.count);

	*ret_misfits = 0;
	clear_books(player->books);
	for (size_t i = 0; done && i < past->accounts.count; i++)
		done = set_account(player->books, &past->accounts.items[i], ret_misfits);
	done = done && set_spaces(past, player->books);
	for (size_t i = 0; done && i < past->heaps.count; i++)
		done = set_heap(player, &past->heaps.items[i], names, &heaps.items[i]);
	for (size_t i = 0; done && i < past->sites.count; i++) {
		const struct gmt_past_site *row = &past->sites.items[i];

		if (is_known(row->layer, row->space))
			done = set_site(player, row, heap_of(past, row, heaps.items), names);
	}
	if (done)
		*ret_misfits += count_peak_misfits(past, player->books, heaps.items);
	player->books->anomalies = past->fold.anomalies;
	player->physical.unknown_handles = 0;
	gmt_vec_fini(&heaps);
	return done;
}

void gmt_past_fini(struct gmt_past *past)
{
	gmt_vec_fini(&past->accounts);
	gmt_vec_fini(&past->spaces);
	gmt_vec_fini(&past->heaps);
	gmt_vec_fini(&past->sites);
	gmt_vec_fini(&past->steps);
	gmt_vec_fini(&past->answers);
	gmt_vec_fini(&past->counters);
	gmt_vec_fini(&past->curves);
	gmt_vec_fini(&past->calls);
	gmt_vec_fini(&past->open_ooms);
}
