/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/arenas.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "containers/map.h"

const char *gmt_arenas_setting(const char *owner)
{
	static const struct {
		const char *owner, *setting;
	} known[] = {
#define GMT_ARENA_OPENED_BY(owner, setting) { owner, setting },
#include "analysis/allocator/arenas.def"
#undef GMT_ARENA_OPENED_BY
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcasecmp(known[i].owner, owner) == 0)
			return known[i].setting;
	return NULL;
}

bool gmt_arenas_is_framework(const char *owner)
{
	return gmt_arenas_setting(owner);
}

static bool has_heap(const struct gmt_replay *replay, const char *name, int32_t device)
{
	for (size_t i = 0; i < replay->heaps.count; i++)
		if (replay->heaps.items[i].device == device &&
			strcasecmp(replay->heaps.items[i].name, name) == 0)
			return true;
	return false;
}

static struct gmt_arena_row *get_row(struct gmt_arenas *arenas, struct gmt_map *ids,
	const struct gmt_traces *traces, uint32_t owner, int32_t device, uint32_t *ret_index)
{
	uint64_t index, key = (uint64_t)owner << 32 | (uint32_t)device;
	struct gmt_arena_row *row;

	if (gmt_map_find(ids, key, &index)) {
		*ret_index = (uint32_t)index;
		return &arenas->rows.items[index];
	}
	*ret_index = (uint32_t)arenas->rows.count;
	row = gmt_vec_push(&arenas->rows);
	if (!row || !gmt_map_put(ids, key, *ret_index))
		return NULL;
	*row = (struct gmt_arena_row){
		.owner = owner, .device = device, .name = gmt_owners_name(&traces->owners, owner)
	};
	row->setting = gmt_arenas_setting(row->name);
	return row;
}

/* Adds the memory of a site to its owner's row, if its stack belongs to an arena. */
static bool add_site(struct gmt_arenas *arenas, struct gmt_map *ids,
	const struct gmt_traces *traces, const struct gmt_replay *replay, uint32_t site)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account_site *row = &accounting->sites.items[site];
	const struct gmt_account *account = &accounting->accounts.items[row->account];
	uint32_t stack = replay->site_stacks.items[site], index;
	enum gmt_owner_arena arena = gmt_owners_arena(&traces->owners, stack);
	uint32_t space = accounting->spaces.items[row->space].space;
	struct gmt_account_amount peak;
	struct gmt_arena_row *arena_row;

	/*
	 * Blocks from the driver's own pools are single blocks, unless a function in the stack says
	 * that they are pieces.
	 */
	if (account->layer != GMT_LAYER_CUDA || !row->alloc_count || arena == GMT_ARENA_NO ||
		(arena == GMT_ARENA_LIKELY && (space == GMT_SPACE_POOL || space == GMT_SPACE_GRAPH)))
		return true;
	arena_row = get_row(arenas, ids, traces,
		gmt_owners_find(&traces->owners, stack, account->layer, account->device), account->device,
		&index);
	if (!arena_row)
		return false;
	peak = gmt_account_site_peak(accounting, site);
	arenas->row_of.items[site] = index + 1;
	arena_row->is_certain |= arena == GMT_ARENA_YES;
	arena_row->live_bytes += row->live_bytes;
	arena_row->live_blocks += row->live_blocks;
	arena_row->peak_bytes += peak.bytes;
	arena_row->peak_blocks += peak.blocks;
	arena_row->alloc_count += row->alloc_count;
	return true;
}

/* Returns whether the owner kept its pieces. */
static bool is_kept(const struct gmt_arena_row *row)
{
	uint64_t kept = row->peak_blocks > row->live_blocks ? row->peak_blocks : row->live_blocks;

	return row->is_certain || kept >= row->alloc_count - kept;
}

struct order {
	uint64_t bytes;
	uint32_t index;
};

static int by_bytes(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* Removes the rows that are not arenas, and sorts the largest arena first. */
static bool sort_rows(struct gmt_arenas *arenas, const struct gmt_replay *replay)
{
	GMT_VEC(struct order) order = { 0 };
	GMT_VEC(struct gmt_arena_row) rows = { 0 };
	GMT_VEC(uint32_t) new_row = { 0 }; /* by old index: new index + 1 */
	bool done = gmt_vec_reserve(&order, arenas->rows.count + 1) &&
		gmt_vec_reserve(&rows, arenas->rows.count + 1) &&
		gmt_vec_reserve(&new_row, arenas->rows.count + 1);

	for (uint32_t i = 0; done && i < arenas->rows.count; i++) {
		struct gmt_arena_row *row = &arenas->rows.items[i];

		if (!is_kept(row))
			continue;
		row->is_seen = has_heap(replay, row->name, row->device);
		*gmt_vec_push(&order) =
			(struct order){ row->peak_bytes > row->live_bytes ? row->peak_bytes : row->live_bytes,
				i };
	}
	if (done && order.count)
		qsort(order.items, order.count, sizeof(*order.items), by_bytes);
	for (uint32_t i = 0; done && i < order.count; i++) {
		*gmt_vec_push(&rows) = arenas->rows.items[order.items[i].index];
		new_row.items[order.items[i].index] = i + 1;
	}
	for (size_t site = 0; done && site < arenas->row_of.count; site++)
		if (arenas->row_of.items[site])
			arenas->row_of.items[site] = new_row.items[arenas->row_of.items[site] - 1];
	for (size_t i = 0; done && i < rows.count; i++)
		arenas->rows.items[i] = rows.items[i];
	if (done)
		arenas->rows.count = rows.count;
	gmt_vec_fini(&order);
	gmt_vec_fini(&rows);
	gmt_vec_fini(&new_row);
	return done;
}

enum gmt_status gmt_arenas_compute(struct gmt_arenas *ret_arenas, const struct gmt_traces *traces,
	const struct gmt_replay *replay, struct gmt_error *error)
{
	struct gmt_map ids = { 0 };
	size_t sites = replay->accounting.sites.count;
	/* gmt_vec_reserve returns zeroed items; they are indexed by site. */
	bool done = gmt_vec_reserve(&ret_arenas->row_of, sites + 1);

	if (done)
		ret_arenas->row_of.count = sites;
	for (uint32_t site = 0; done && site < sites; site++)
		done = add_site(ret_arenas, &ids, traces, replay, site);
	done = done && sort_rows(ret_arenas, replay);
	gmt_map_fini(&ids);
	if (done)
		return GMT_OK;
	gmt_arenas_fini(ret_arenas);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_arenas_fini(struct gmt_arenas *arenas)
{
	gmt_vec_fini(&arenas->rows);
	gmt_vec_fini(&arenas->row_of);
}

const struct gmt_arena_row *gmt_arenas_unseen(const struct gmt_arenas *arenas, int32_t device)
{
	for (size_t i = 0; i < arenas->rows.count; i++)
		if (arenas->rows.items[i].device == device && !arenas->rows.items[i].is_seen)
			return &arenas->rows.items[i];
	return NULL;
}

const struct gmt_arena_row *gmt_arenas_unseen_on_gpus(const struct gmt_arenas *arenas)
{
	for (size_t i = 0; i < arenas->rows.count; i++)
		if (arenas->rows.items[i].device != GMT_DEVICE_HOST && !arenas->rows.items[i].is_seen)
			return &arenas->rows.items[i];
	return NULL;
}

struct gmt_arena_text gmt_arenas_warning(const struct gmt_arena_row *row)
{
	struct gmt_arena_text warning;

	snprintf(warning.text, sizeof(warning.text),
		"blocks inside %.64s's arena are not recorded, so leaks there cannot be found", row->name);
	return warning;
}
