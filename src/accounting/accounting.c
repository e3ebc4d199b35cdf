/* SPDX-License-Identifier: MIT */
#include "accounting/accounting.h"

#include <assert.h>

static uint64_t account_key(uint8_t layer, int16_t device)
{
	return (uint64_t)layer << 16 | (uint16_t)device;
}

static bool get_account(struct gmt_accounting *accounting, uint8_t layer, int16_t device,
	uint32_t *ret_account)
{
	uint64_t id, key = account_key(layer, device);

	/* Most events use the same account as the event before. */
	if (accounting->last_account_key_plus_1 == key + 1) {
		*ret_account = accounting->last_account;
		return true;
	}
	if (!gmt_map_find(&accounting->account_ids, key, &id)) {
		id = accounting->accounts.count;
		if (!gmt_vec_reserve(&accounting->accounts, 1) ||
			!gmt_map_put(&accounting->account_ids, key, id))
			return false;
		*gmt_vec_push(&accounting->accounts) = (struct gmt_account){
			.layer = layer,
			.device = device,
		};
	}
	*ret_account = accounting->last_account = (uint32_t)id;
	accounting->last_account_key_plus_1 = key + 1;
	return true;
}

static bool get_space(struct gmt_accounting *accounting, uint32_t account, uint8_t space,
	uint32_t *ret_space)
{
	uint64_t key = (uint64_t)account << 8 | space;
	uint64_t id;

	if (!gmt_map_find(&accounting->space_ids, key, &id)) {
		id = accounting->spaces.count;
		if (!gmt_vec_reserve(&accounting->spaces, 1) ||
			!gmt_map_put(&accounting->space_ids, key, id))
			return false;
		*gmt_vec_push(&accounting->spaces) = (struct gmt_account_space){
			.account = account,
			.space = space,
		};
	}
	*ret_space = (uint32_t)id;
	return true;
}

struct gmt_account *gmt_accounting_get_account(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device)
{
	uint32_t id;

	return get_account(accounting, layer, device, &id) ? &accounting->accounts.items[id] : NULL;
}

struct gmt_account_space *gmt_accounting_get_space(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device, uint8_t space)
{
	uint32_t account, id;

	return get_account(accounting, layer, device, &account) &&
			get_space(accounting, account, space, &id)
		? &accounting->spaces.items[id]
		: NULL;
}

/* Returns which map holds the keys of a layer's blocks. Only the CUDA family has handles. */
static unsigned keyspace_index(uint8_t layer, uint8_t space)
{
	enum gmt_family family = gmt_layer_family(layer);

	return family == GMT_FAMILY_CUDA ? (unsigned)gmt_space_realm(space)
									 : GMT_REALM_COUNT + (unsigned)family - 1;
}

static struct gmt_map *keyspace(struct gmt_accounting *accounting, uint8_t layer, uint8_t space)
{
	return &accounting->blocks[keyspace_index(layer, space)];
}

static struct gmt_map *keyspace_of_site(struct gmt_accounting *accounting,
	const struct gmt_account_site *site)
{
	return keyspace(accounting, accounting->accounts.items[site->account].layer,
		(uint8_t)accounting->spaces.items[site->space].space);
}

bool gmt_accounting_add_site(struct gmt_accounting *accounting, uint8_t layer, int16_t device,
	uint8_t space, uint32_t *ret_site)
{
	uint32_t account, space_id;

	assert(layer < GMT_ACCOUNTING_LAYERS);
	if (gmt_space_side(space) == GMT_SIDE_HOST)
		device = GMT_DEVICE_HOST;
	if (!get_account(accounting, layer, device, &account) ||
		!get_space(accounting, account, space, &space_id) ||
		!gmt_vec_reserve(&accounting->sites, 1))
		return false;
	*ret_site = (uint32_t)accounting->sites.count;
	*gmt_vec_push(&accounting->sites) =
		(struct gmt_account_site){ .account = account, .space = space_id };
	return true;
}

bool gmt_accounting_add_heap(struct gmt_accounting *accounting, uint32_t *ret_heap)
{
	struct gmt_account_heap *heap = gmt_vec_push(&accounting->heaps);

	if (!heap)
		return false;
	*heap = (struct gmt_account_heap){ 0 };
	*ret_heap = (uint32_t)accounting->heaps.count - 1;
	return true;
}

void gmt_accounting_put_in_heap(struct gmt_accounting *accounting, uint32_t site, uint32_t heap)
{
	assert(heap < accounting->heaps.count && !accounting->sites.items[site].alloc_count);
	accounting->sites.items[site].heap_plus_1 = heap + 1;
}

static struct gmt_account_heap *heap_of(struct gmt_accounting *accounting,
	const struct gmt_account_site *site)
{
	return site->heap_plus_1 ? &accounting->heaps.items[site->heap_plus_1 - 1] : NULL;
}

/*
 * Saves what a site held at the last peak. Call it before a site changes.
 *
 * A new peak itself saves nothing. A site saves its amount when it is about to change for the first
 * time after the peak. A site that has not changed since the peak still holds that amount.
 */
static void save_before_change(struct gmt_account_site *site, const struct gmt_account *account,
	const struct gmt_account_heap *heap)
{
	if (heap && site->heap_saved_peak_number != heap->peak_number) {
		site->heap_saved_peak_number = heap->peak_number;
		site->heap_saved_bytes = site->live_bytes;
		site->heap_saved_blocks = site->live_blocks;
	}
	if (site->saved_peak_number == account->peak_number)
		return;
	site->saved_peak_number = account->peak_number;
	site->saved_bytes = site->live_bytes;
	site->saved_blocks = site->live_blocks;
}

struct gmt_account_amount gmt_account_site_peak(const struct gmt_accounting *accounting,
	uint32_t site_id)
{
	const struct gmt_account_site *site = &accounting->sites.items[site_id];

	if (site->saved_peak_number == accounting->accounts.items[site->account].peak_number)
		return (struct gmt_account_amount){ site->saved_bytes, site->saved_blocks };
	return (struct gmt_account_amount){ site->live_bytes, site->live_blocks };
}

struct gmt_account_amount gmt_account_site_heap_peak(const struct gmt_accounting *accounting,
	uint32_t site_id)
{
	const struct gmt_account_site *site = &accounting->sites.items[site_id];

	if (!site->heap_plus_1)
		return (struct gmt_account_amount){ 0 };
	if (site->heap_saved_peak_number == accounting->heaps.items[site->heap_plus_1 - 1].peak_number)
		return (struct gmt_account_amount){ site->heap_saved_bytes, site->heap_saved_blocks };
	return (struct gmt_account_amount){ site->live_bytes, site->live_blocks };
}

static void account_heap_alloc(struct gmt_account_heap *heap, uint64_t size_bytes, uint64_t stamp)
{
	heap->live_bytes += size_bytes;
	heap->live_blocks++;
	heap->alloc_count++;
	heap->total_bytes = gmt_saturating_add_i64(heap->total_bytes, size_bytes);
	if (heap->live_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->live_bytes;
		heap->peak_blocks = heap->live_blocks;
		heap->peak_stamp = stamp;
		heap->peak_number++;
	}
}

static void account_alloc(struct gmt_accounting *accounting, struct gmt_account_site *site,
	uint64_t size_bytes, uint64_t stamp)
{
	struct gmt_account *account = &accounting->accounts.items[site->account];
	struct gmt_account_space *space = &accounting->spaces.items[site->space];
	struct gmt_account_heap *heap = heap_of(accounting, site);

	save_before_change(site, account, heap);
	if (heap)
		account_heap_alloc(heap, size_bytes, stamp);
	site->live_bytes += size_bytes;
	site->live_blocks++;
	site->alloc_count++;
	site->total_bytes = gmt_saturating_add_i64(site->total_bytes, size_bytes);
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
	account->total_bytes = gmt_saturating_add_i64(account->total_bytes, size_bytes);
	if (account->live_bytes > account->peak_bytes) {
		account->peak_bytes = account->live_bytes;
		account->peak_blocks = account->live_blocks;
		account->peak_stamp = stamp;
		account->peak_number++;
	}
}

static void account_free(struct gmt_accounting *accounting, struct gmt_account_site *site,
	uint64_t size_bytes)
{
	struct gmt_account *account = &accounting->accounts.items[site->account];
	struct gmt_account_space *space = &accounting->spaces.items[site->space];
	struct gmt_account_heap *heap = heap_of(accounting, site);

	save_before_change(site, account, heap);
	if (heap) {
		heap->live_bytes -= size_bytes;
		heap->live_blocks--;
	}
	site->live_bytes -= size_bytes;
	site->live_blocks--;
	space->live_bytes -= size_bytes;
	space->live_blocks--;
	account->live_bytes -= size_bytes;
	account->live_blocks--;
}

/* Removes a slot's block from the table and stores it in accounting->ended. */
static void close_block(struct gmt_accounting *accounting, struct gmt_map *blocks,
	struct gmt_map_slot *slot)
{
	uint64_t index = slot->value_plus_1 - 1;
	struct gmt_account_block *block = &accounting->block_table.items[index];

	gmt_map_remove_slot(blocks, slot);
	accounting->ended = *block;
	accounting->has_ended = true;
	block->references = accounting->first_free_plus_1;
	accounting->first_free_plus_1 = (uint32_t)index + 1;
	account_free(accounting, &accounting->sites.items[accounting->ended.site],
		accounting->ended.size_bytes);
}

static struct gmt_account_block *find_block(struct gmt_accounting *accounting,
	const struct gmt_map *blocks, uint64_t address)
{
	uint64_t index;

	return gmt_map_find(blocks, address, &index) ? &accounting->block_table.items[index] : NULL;
}

/*
 * Adds a reference to the older block at this address, if its space counts references. Returns
 * whether it did.
 */
static bool add_reference(struct gmt_accounting *accounting, struct gmt_account_block *older,
	uint32_t site_id)
{
	uint32_t space = accounting->sites.items[site_id].space;

	if (accounting->sites.items[older->site].space != space || older->references == UINT32_MAX ||
		gmt_space_life(accounting->spaces.items[space].space) != GMT_LIFE_COUNTED)
		return false;
	older->references++;
	return true;
}

bool gmt_accounting_alloc(struct gmt_accounting *accounting, uint32_t site_id, uint64_t address,
	uint64_t size_bytes, uint64_t stamp)
{
	struct gmt_account_site *site = &accounting->sites.items[site_id];
	const struct gmt_account *account = &accounting->accounts.items[site->account];
	struct gmt_map *blocks = keyspace_of_site(accounting, site);
	uint64_t index;

	accounting->has_ended = false;
	accounting->new_block_plus_1 = 0;
	if (!address || size_bytes > GMT_ACCOUNTING_MAX_BYTES - account->live_bytes) {
		accounting->anomalies.impossible_sizes++;
		return true;
	}
	if (!gmt_vec_reserve(&accounting->block_table, 1) ||
		accounting->block_table.count >= UINT32_MAX - 1)
		return false;

	struct gmt_map_slot *slot = gmt_map_slot_with_room(blocks, address);
	if (!slot)
		return false;
	if (slot->value_plus_1) {
		if (add_reference(accounting, &accounting->block_table.items[slot->value_plus_1 - 1],
				site_id))
			return true;
		/* The free of the older block was missed. The block ends, but no free is counted. */
		close_block(accounting, blocks, slot);
		accounting->anomalies.missed_frees++;
		slot = gmt_map_slot(blocks, address);
	}

	index = accounting->first_free_plus_1 ? accounting->first_free_plus_1 - 1
										  : accounting->block_table.count;
	gmt_map_fill(blocks, slot, address, index);
	if (accounting->first_free_plus_1)
		accounting->first_free_plus_1 = accounting->block_table.items[index].references;
	else
		accounting->block_table.count++;
	accounting->block_table.items[index] = (struct gmt_account_block){
		.size_bytes = size_bytes,
		.stamp = stamp,
		.sequence = ++accounting->last_sequence,
		.site = site_id,
		.references = 1,
	};
	accounting->new_block_plus_1 = (uint32_t)index + 1;
	account_alloc(accounting, site, size_bytes, stamp);
	return true;
}

void gmt_accounting_bind(struct gmt_accounting *accounting, uint16_t context)
{
	accounting->block_table.items[accounting->new_block_plus_1 - 1].context = context;
}

void gmt_accounting_set_tag(struct gmt_accounting *accounting, uint8_t layer, uint8_t space,
	uint64_t address, uint32_t tag)
{
	struct gmt_account_block *block =
		find_block(accounting, keyspace(accounting, layer, space), address);

	if (block)
		block->tag = tag;
}

uint32_t gmt_accounting_free(struct gmt_accounting *accounting, uint8_t layer, uint8_t space,
	uint64_t address, uint64_t size_bytes)
{
	struct gmt_map *blocks = keyspace(accounting, layer, space);
	struct gmt_map_slot *slot = gmt_map_slot(blocks, address);

	assert(layer < GMT_ACCOUNTING_LAYERS);
	accounting->has_ended = false;
	if (!slot || !slot->value_plus_1) {
		/* Every allocator accepts a free of NULL and does nothing. */
		accounting->anomalies.unknown_frees += address != 0;
		return UINT32_MAX;
	}

	struct gmt_account_block *block = &accounting->block_table.items[slot->value_plus_1 - 1];
	uint32_t site = block->site;
	accounting->anomalies.size_mismatches += size_bytes && size_bytes != block->size_bytes;
	if (block->references > 1) {
		block->references--;
		return site;
	}
	close_block(accounting, blocks, slot);
	accounting->sites.items[site].free_count++;
	accounting->accounts.items[accounting->sites.items[site].account].free_count++;
	if (heap_of(accounting, &accounting->sites.items[site]))
		heap_of(accounting, &accounting->sites.items[site])->free_count++;
	return site;
}

const struct gmt_account_block *gmt_accounting_find(const struct gmt_accounting *accounting,
	uint8_t layer, uint8_t space, uint64_t address)
{
	uint64_t index;

	if (!gmt_map_find(&accounting->blocks[keyspace_index(layer, space)], address, &index))
		return NULL;
	return &accounting->block_table.items[index];
}

void gmt_accounting_refuse(struct gmt_accounting *accounting, uint32_t site_id)
{
	struct gmt_account_site *site = &accounting->sites.items[site_id];

	site->refused_count++;
	accounting->accounts.items[site->account].refused_count++;
}

bool gmt_accounting_set_reported_totals(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device, uint64_t allocated_bytes, uint64_t reserved_bytes)
{
	uint32_t id;

	assert(layer < GMT_ACCOUNTING_LAYERS);
	if (!get_account(accounting, layer, device, &id))
		return false;

	struct gmt_account *account = &accounting->accounts.items[id];
	/* A recorder that cannot read the totals leaves them zero. */
	if (!allocated_bytes && !reserved_bytes && !account->has_totals)
		return true;
	/*
	 * The unsigned subtraction may wrap. A total from a damaged file must not cause undefined
	 * behaviour.
	 */
	int64_t unseen_bytes = (int64_t)(allocated_bytes - account->live_bytes);
	account->reported_disagreements += unseen_bytes != account->unseen_bytes;
	account->unseen_bytes = unseen_bytes;
	account->has_totals = true;
	account->reported_allocated_bytes = allocated_bytes;
	account->reported_reserved_bytes = reserved_bytes;
	if (allocated_bytes > account->reported_allocated_peak_bytes)
		account->reported_allocated_peak_bytes = allocated_bytes;
	if (reserved_bytes > account->reported_reserved_peak_bytes)
		account->reported_reserved_peak_bytes = reserved_bytes;
	return true;
}

const struct gmt_account *gmt_accounting_find_account(const struct gmt_accounting *accounting,
	uint8_t layer, int16_t device)
{
	uint64_t id;

	if (!gmt_map_find(&accounting->account_ids, account_key(layer, device), &id))
		return NULL;
	return &accounting->accounts.items[id];
}

void gmt_accounting_fini(struct gmt_accounting *accounting)
{
	for (unsigned i = 0; i < GMT_ACCOUNTING_KEYSPACES; i++)
		gmt_map_fini(&accounting->blocks[i]);
	gmt_vec_fini(&accounting->block_table);
	gmt_map_fini(&accounting->account_ids);
	accounting->last_account_key_plus_1 = 0;
	gmt_map_fini(&accounting->space_ids);
	gmt_vec_fini(&accounting->accounts);
	gmt_vec_fini(&accounting->spaces);
	gmt_vec_fini(&accounting->sites);
	gmt_vec_fini(&accounting->heaps);
}
