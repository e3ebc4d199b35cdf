/* SPDX-License-Identifier: MIT */
#include "analysis/compare/diff_match.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/compare/site_key_names.h"

static int lowest_first(const void *left, const void *right)
{
	const int32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool has(const int32_t *items, size_t count, int32_t device)
{
	for (size_t i = 0; i < count; i++)
		if (items[i] == device)
			return true;
	return false;
}

bool gmt_diff_devices_match(struct gmt_diff_devices *ret_devices, const struct gmt_diff *diff)
{
	for (int side = 0; side < GMT_DIFF_SIDES; side++) {
		const struct gmt_accounting *accounting = &diff->sides[side].replay->accounting;

		for (size_t i = 0; i < accounting->accounts.count; i++) {
			const struct gmt_account *account = &accounting->accounts.items[i];
			int32_t *slot;

			if (account->device < 0 || !account->alloc_count ||
				!gmt_layer_can_leak(account->layer) ||
				has(ret_devices->used[side].items, ret_devices->used[side].count, account->device))
				continue;
			slot = gmt_vec_push(&ret_devices->used[side]);
			if (!slot)
				return false;
			*slot = account->device;
		}
		if (ret_devices->used[side].count)
			qsort(ret_devices->used[side].items, ret_devices->used[side].count, sizeof(int32_t),
				lowest_first);
	}
	ret_devices->are_paired =
		ret_devices->used[GMT_DIFF_BASE].count == ret_devices->used[GMT_DIFF_NEW].count;
	return true;
}

int32_t gmt_diff_devices_base(const struct gmt_diff_devices *devices, int side, int32_t device)
{
	if (side == GMT_DIFF_BASE || !devices->are_paired)
		return device;
	for (size_t i = 0; i < devices->used[GMT_DIFF_NEW].count; i++)
		if (devices->used[GMT_DIFF_NEW].items[i] == device)
			return devices->used[GMT_DIFF_BASE].items[i];
	return device;
}

void gmt_diff_devices_fini(struct gmt_diff_devices *devices)
{
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		gmt_vec_fini(&devices->used[side]);
}

/* Rows that exist on one side only and whose names differ only in the folder. */
struct namesakes {
	size_t counts[GMT_DIFF_SIDES];
	size_t rows[GMT_DIFF_SIDES]; /* last such row of each side */
};

/* Returns the side that has blocks in this row. GMT_DIFF_SIDES: both sides have blocks. */
static int only_side_of(const struct gmt_diff_row *row)
{
	const uint64_t *allocs = row->amounts[GMT_DIFF_ALLOCS].sides;

	return allocs[GMT_DIFF_BASE] && allocs[GMT_DIFF_NEW] ? GMT_DIFF_SIDES
		: allocs[GMT_DIFF_BASE]                          ? GMT_DIFF_BASE
														 : GMT_DIFF_NEW;
}

/* Moves the amounts of the base's row `from` into the new recording's row. */
static void merge_rows(struct gmt_diff_row *row, struct gmt_diff_row *from)
{
	for (int amount = 0; amount < GMT_DIFF_AMOUNTS; amount++)
		row->amounts[amount].sides[GMT_DIFF_BASE] += from->amounts[amount].sides[GMT_DIFF_BASE];
	row->sites.sides[GMT_DIFF_BASE] += from->sites.sides[GMT_DIFF_BASE];
	row->largest[GMT_DIFF_BASE] = from->largest[GMT_DIFF_BASE];
	row->moved_from = from->name;
	from->name = NULL;
}

/* Adds a row that exists on one side only to the namesakes with its name and account. */
static bool add_to_namesakes(struct gmt_diff *diff, struct gmt_map *ids, struct namesakes *table,
	size_t index)
{
	const struct gmt_diff_row *row = &diff->rows.items[index];
	int side = only_side_of(row);
	uint32_t name;
	uint64_t id, key;

	if (side == GMT_DIFF_SIDES || !*row->name)
		return true;
	if (!gmt_intern_text(&diff->names, gmt_site_key_without_folder(row->name), &name))
		return false;
	key = (uint64_t)row->account << 32 | name;
	if (!gmt_map_find(ids, key, &id)) {
		id = ids->count;
		if (!gmt_map_put(ids, key, id))
			return false;
	}
	table[id].counts[side]++;
	table[id].rows[side] = index;
	return true;
}

bool gmt_diff_join_moved(struct gmt_diff *diff)
{
	struct gmt_map ids = { 0 };
	GMT_VEC(struct namesakes) table = { 0 };
	bool has_files = diff->options.by == GMT_DIFF_BY_GROUP || diff->options.by == GMT_DIFF_BY_LINE;
	bool done = gmt_vec_reserve(&table, diff->rows.count + 1);
	size_t kept = 0;

	/*
	 * Other groupings have no file in their names. By stack, the hash includes the files of all
	 * frames.
	 */
	for (size_t i = 0; done && has_files && i < diff->rows.count; i++)
		done = add_to_namesakes(diff, &ids, table.items, i);
	for (size_t i = 0; done && i < ids.count; i++)
		if (table.items[i].counts[GMT_DIFF_BASE] == 1 && table.items[i].counts[GMT_DIFF_NEW] == 1)
			merge_rows(&diff->rows.items[table.items[i].rows[GMT_DIFF_NEW]],
				&diff->rows.items[table.items[i].rows[GMT_DIFF_BASE]]);
	for (size_t i = 0; done && i < diff->rows.count; i++)
		if (diff->rows.items[i].name)
			diff->rows.items[kept++] = diff->rows.items[i];
	diff->rows.count = done ? kept : diff->rows.count;
	gmt_map_fini(&ids);
	gmt_vec_fini(&table);
	return done;
}
