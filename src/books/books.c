/* SPDX-License-Identifier: MIT */
#include "books/books.h"

#include <assert.h>

static uint64_t add_saturated(uint64_t sum, uint64_t bytes)
{
	/* Both are below 2^63: the sum cannot wrap. */
	return sum + bytes > INT64_MAX ? INT64_MAX : sum + bytes;
}

static uint64_t account_key(uint8_t layer, int16_t device)
{
	return (uint64_t)layer << 16 | (uint16_t)device;
}

static bool get_account(struct gmt_books *books, uint8_t layer, int16_t device, uint32_t *ret_account)
{
	uint64_t id;

	if (!gmt_map_find(&books->account_ids, account_key(layer, device), &id)) {
		id = books->accounts.count;
		if (!gmt_vec_reserve(&books->accounts, 1) ||
			!gmt_map_put(&books->account_ids, account_key(layer, device), id))
			return false;
		*gmt_vec_push(&books->accounts) = (struct gmt_books_account){
			.layer = layer, .device = device,
		};
	}
	*ret_account = (uint32_t)id;
	return true;
}

static bool get_space(struct gmt_books *books, uint32_t account, uint8_t space, uint32_t *ret_space)
{
	uint64_t key = (uint64_t)account << 8 | space;
	uint64_t id;

	if (!gmt_map_find(&books->space_ids, key, &id)) {
		id = books->spaces.count;
		if (!gmt_vec_reserve(&books->spaces, 1) || !gmt_map_put(&books->space_ids, key, id))
			return false;
		*gmt_vec_push(&books->spaces) = (struct gmt_books_space){
			.account = account, .space = space,
		};
	}
	*ret_space = (uint32_t)id;
	return true;
}

bool gmt_books_add_site(struct gmt_books *books, uint8_t layer, int16_t device, uint8_t space,
	uint32_t *ret_site)
{
	uint32_t account, space_id;

	assert(layer < GMT_BOOKS_LAYERS);
	if (gmt_space_side(space) == GMT_SIDE_HOST)
		device = GMT_DEVICE_HOST;
	if (!get_account(books, layer, device, &account) || !get_space(books, account, space, &space_id) ||
		!gmt_vec_reserve(&books->sites, 1))
		return false;
	*ret_site = (uint32_t)books->sites.count;
	*gmt_vec_push(&books->sites) = (struct gmt_books_site){ .account = account, .space = space_id };
	return true;
}

/*
 * Called before a site changes. A peak saves nothing; instead a site that is about to change for the
 * first time after it keeps what it held. Who has not changed since the peak still holds it.
 */
static void save_before_change(struct gmt_books_site *site, const struct gmt_books_account *account)
{
	if (site->saved_epoch == account->epoch)
		return;
	site->saved_epoch = account->epoch;
	site->saved_bytes = site->live_bytes;
	site->saved_blocks = site->live_blocks;
}

struct gmt_books_amount gmt_books_site_peak(const struct gmt_books *books, uint32_t id)
{
	const struct gmt_books_site *site = &books->sites.items[id];

	if (site->saved_epoch == books->accounts.items[site->account].epoch)
		return (struct gmt_books_amount){ site->saved_bytes, site->saved_blocks };
	return (struct gmt_books_amount){ site->live_bytes, site->live_blocks };
}

static void book_alloc(struct gmt_books *books, struct gmt_books_site *site, uint64_t size_bytes,
	uint64_t stamp)
{
	struct gmt_books_account *account = &books->accounts.items[site->account];
	struct gmt_books_space *space = &books->spaces.items[site->space];

	save_before_change(site, account);
	site->live_bytes += size_bytes;
	site->live_blocks++;
	site->alloc_count++;
	site->total_bytes = add_saturated(site->total_bytes, size_bytes);
	if (site->live_bytes > site->max_live_bytes)
		site->max_live_bytes = site->live_bytes;

	space->live_bytes += size_bytes;
	space->live_blocks++;
	if (space->live_bytes > space->peak_bytes) {
		space->peak_bytes = space->live_bytes;
		space->peak_stamp = stamp;
	}

	account->live_bytes += size_bytes;
	account->live_blocks++;
	account->alloc_count++;
	account->total_bytes = add_saturated(account->total_bytes, size_bytes);
	if (account->live_bytes > account->peak_bytes) {
		account->peak_bytes = account->live_bytes;
		account->peak_blocks = account->live_blocks;
		account->peak_stamp = stamp;
		account->epoch++;
	}
}

static void book_free(struct gmt_books *books, struct gmt_books_site *site, uint64_t size_bytes)
{
	struct gmt_books_account *account = &books->accounts.items[site->account];
	struct gmt_books_space *space = &books->spaces.items[site->space];

	save_before_change(site, account);
	site->live_bytes -= size_bytes;
	site->live_blocks--;
	space->live_bytes -= size_bytes;
	space->live_blocks--;
	account->live_bytes -= size_bytes;
	account->live_blocks--;
}

/* Takes the block at `address` out of the table, to books->ended; false when there is none. */
static bool close_block(struct gmt_books *books, uint8_t layer, uint64_t address)
{
	uint64_t index;

	books->has_ended = false;
	if (!gmt_map_remove(&books->blocks[layer], address, &index))
		return false;

	struct gmt_books_block *block = &books->block_table.items[index];
	books->ended = *block;
	books->has_ended = true;
	block->next_free = books->first_free_plus_1;
	books->first_free_plus_1 = (uint32_t)index + 1;
	book_free(books, &books->sites.items[books->ended.site], books->ended.size_bytes);
	return true;
}

bool gmt_books_alloc(struct gmt_books *books, uint32_t site_id, uint64_t address, uint64_t size_bytes,
	uint64_t stamp)
{
	struct gmt_books_site *site = &books->sites.items[site_id];
	const struct gmt_books_account *account = &books->accounts.items[site->account];
	uint64_t index;

	books->has_ended = false;
	if (!address || size_bytes > GMT_BOOKS_MAX_BYTES - account->live_bytes) {
		books->anomalies.impossible_sizes++;
		return true;
	}
	if (!gmt_vec_reserve(&books->block_table, 1) || books->block_table.count >= UINT32_MAX - 1)
		return false;
	/* A free of the older block was missed, so it counts as an end, not as a free that happened. */
	if (gmt_map_find(&books->blocks[account->layer], address, &index) &&
		close_block(books, account->layer, address))
		books->anomalies.missed_frees++;

	index = books->first_free_plus_1 ? books->first_free_plus_1 - 1 : books->block_table.count;
	if (!gmt_map_put(&books->blocks[account->layer], address, index))
		return false;
	if (books->first_free_plus_1)
		books->first_free_plus_1 = books->block_table.items[index].next_free;
	else
		books->block_table.count++;
	books->block_table.items[index] =
		(struct gmt_books_block){ .size_bytes = size_bytes, .stamp = stamp, .site = site_id };
	book_alloc(books, site, size_bytes, stamp);
	return true;
}

uint32_t gmt_books_free(struct gmt_books *books, uint8_t layer, uint64_t address, uint64_t size_bytes)
{
	const struct gmt_books_block *block = &books->ended;

	assert(layer < GMT_BOOKS_LAYERS);
	if (!close_block(books, layer, address)) {
		/* Every allocator takes a free of nothing and does nothing. */
		books->anomalies.unknown_frees += address != 0;
		return UINT32_MAX;
	}
	books->anomalies.size_mismatches += size_bytes && size_bytes != block->size_bytes;

	struct gmt_books_site *site = &books->sites.items[block->site];
	site->free_count++;
	books->accounts.items[site->account].free_count++;
	return block->site;
}

void gmt_books_refuse(struct gmt_books *books, uint32_t site_id)
{
	struct gmt_books_site *site = &books->sites.items[site_id];

	site->refused_count++;
	books->accounts.items[site->account].refused_count++;
}

bool gmt_books_totals(struct gmt_books *books, uint8_t layer, int16_t device, uint64_t allocated_bytes,
	uint64_t reserved_bytes)
{
	uint32_t id;

	assert(layer < GMT_BOOKS_LAYERS);
	if (!get_account(books, layer, device, &id))
		return false;

	struct gmt_books_account *account = &books->accounts.items[id];
	/* A recorder that cannot know the totals leaves them zero. */
	if (!allocated_bytes && !reserved_bytes && !account->has_totals)
		return true;
	/* Wrapping on purpose: a total from a damaged writer must not be undefined behaviour. */
	int64_t unseen_bytes = (int64_t)(allocated_bytes - account->live_bytes);
	account->told_disagreements += unseen_bytes != account->unseen_bytes;
	account->unseen_bytes = unseen_bytes;
	account->has_totals = true;
	account->told_allocated_bytes = allocated_bytes;
	account->told_reserved_bytes = reserved_bytes;
	if (allocated_bytes > account->told_allocated_peak_bytes)
		account->told_allocated_peak_bytes = allocated_bytes;
	if (reserved_bytes > account->told_reserved_peak_bytes)
		account->told_reserved_peak_bytes = reserved_bytes;
	return true;
}

const struct gmt_books_account *gmt_books_find_account(const struct gmt_books *books, uint8_t layer,
	int16_t device)
{
	uint64_t id;

	if (!gmt_map_find(&books->account_ids, account_key(layer, device), &id))
		return NULL;
	return &books->accounts.items[id];
}

bool gmt_books_next_block(const struct gmt_books *books, uint8_t layer, size_t *cursor,
	struct gmt_books_place *ret_place)
{
	const struct gmt_map *blocks = &books->blocks[layer];

	while (*cursor < blocks->capacity) {
		const struct gmt_map_slot *slot = &blocks->slots[(*cursor)++];

		if (slot->value_plus_1) {
			ret_place->address = slot->key;
			ret_place->block = books->block_table.items[slot->value_plus_1 - 1];
			return true;
		}
	}
	return false;
}

void gmt_books_fini(struct gmt_books *books)
{
	for (unsigned layer = 0; layer < GMT_BOOKS_LAYERS; layer++)
		gmt_map_fini(&books->blocks[layer]);
	gmt_vec_fini(&books->block_table);
	gmt_map_fini(&books->account_ids);
	gmt_map_fini(&books->space_ids);
	gmt_vec_fini(&books->accounts);
	gmt_vec_fini(&books->spaces);
	gmt_vec_fini(&books->sites);
}
