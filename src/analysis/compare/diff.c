/* SPDX-License-Identifier: MIT */
#include "analysis/compare/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/categories.h"
#include "analysis/compare/diff_match.h"
#include "analysis/compare/site_key_names.h"
#include "analysis/tables/stack_names.h"
#include "reader/load/clock.h"

struct builder {
	struct gmt_diff *diff;
	struct gmt_map account_ids; /* layer and device to index in diff->accounts */
	struct gmt_map row_ids;     /* account and name to index in diff->rows */
	struct gmt_diff_devices devices;
};

static const char *const change_names[] = { "new", "gone", "grown", "shrunk", "unchanged" };

const char *gmt_diff_change_name(enum gmt_diff_change change)
{
	return change_names[change];
}

#define GMT_DIFF_ROW(NAME, name, row, rows, none) { name, row, rows, none },
static const struct {
	const char *name, *row, *rows, *none;
} by_texts[] = {
#include "analysis/compare/diff_by.def"
};
#undef GMT_DIFF_ROW

const char *gmt_diff_by_name(enum gmt_diff_grouping by)
{
	return by_texts[by].name;
}

const char *gmt_diff_by_row(enum gmt_diff_grouping by)
{
	return by_texts[by].row;
}

const char *gmt_diff_by_rows(enum gmt_diff_grouping by)
{
	return by_texts[by].rows;
}

const char *gmt_diff_by_none(enum gmt_diff_grouping by)
{
	return by_texts[by].none;
}

const char *gmt_diff_amount_name(enum gmt_diff_amount amount)
{
	static const char *const names[] = {
#define GMT_DIFF_AMOUNT(NAME, name) name,
#include "analysis/compare/diff_amounts.def"
#undef GMT_DIFF_AMOUNT
	};

	return names[amount];
}

int64_t gmt_diff_pair_change(const struct gmt_diff_pair *pair)
{
	return (int64_t)(pair->sides[GMT_DIFF_NEW] - pair->sides[GMT_DIFF_BASE]);
}

static uint64_t magnitude_of(int64_t difference)
{
	return difference < 0 ? -(uint64_t)difference : (uint64_t)difference;
}

static uint64_t account_key(uint32_t layer, int32_t device)
{
	return (uint64_t)layer << 32 | (uint32_t)device;
}

static void fill_account(struct gmt_diff *diff, struct gmt_diff_account *account, int side,
	const struct gmt_account *accounting)
{
	const struct gmt_recording *recording = diff->sides[side].recording;
	struct gmt_diff_pair *amounts = account->amounts;

	struct gmt_account end = gmt_replay_end_account(diff->sides[side].replay,
		(size_t)(accounting - diff->sides[side].replay->accounting.accounts.items));

	account->accounting[side] = accounting;
	amounts[GMT_DIFF_PEAK_BYTES].sides[side] = accounting->peak_bytes;
	amounts[GMT_DIFF_PEAK_BLOCKS].sides[side] = accounting->peak_blocks;
	amounts[GMT_DIFF_LIVE_BYTES].sides[side] = end.live_bytes;
	amounts[GMT_DIFF_LIVE_BLOCKS].sides[side] = end.live_blocks;
	amounts[GMT_DIFF_TOTAL_BYTES].sides[side] = accounting->total_bytes;
	amounts[GMT_DIFF_ALLOCS].sides[side] = accounting->alloc_count;
	amounts[GMT_DIFF_FREES].sides[side] = accounting->free_count;
	account->refused.sides[side] = accounting->refused_count;
	account->reserved_peak_bytes.sides[side] = accounting->reported_reserved_peak_bytes;
	account->has_reserved |= accounting->has_totals;
	account->peak_time_ns.sides[side] =
		accounting->peak_number ? gmt_clock_time_ns(recording, accounting->peak_stamp) : 0;
}

static bool list_accounts(struct builder *builder, int side)
{
	struct gmt_diff *diff = builder->diff;
	const struct gmt_accounting *accounting = &diff->sides[side].replay->accounting;

	for (size_t i = 0; i < accounting->accounts.count; i++) {
		const struct gmt_account *from = &accounting->accounts.items[i];
		int32_t device = gmt_diff_devices_base(&builder->devices, side, from->device);
		uint64_t index, key = account_key(from->layer, device);

		/*
		 * The driver's own memory is measured and differs from run to run. The program did not
		 * cause this difference.
		 */
		if (!gmt_layer_can_leak(from->layer))
			continue;
		if (!gmt_map_find(&builder->account_ids, key, &index)) {
			struct gmt_diff_account *account = gmt_vec_push(&diff->accounts);

			index = diff->accounts.count - 1;
			if (!account || !gmt_map_put(&builder->account_ids, key, index))
				return false;
			account->layer = from->layer;
			account->device = account->new_device = device;
		}
		if (side == GMT_DIFF_NEW)
			diff->accounts.items[index].new_device = from->device;
		fill_account(diff, &diff->accounts.items[index], side, from);
	}
	return true;
}

static int by_device_and_layer(const void *left, const void *right)
{
	const struct gmt_diff_account *a = left, *b = right;
	bool a_host = a->device == GMT_DEVICE_HOST, b_host = b->device == GMT_DEVICE_HOST;

	if (a_host != b_host)
		return a_host - b_host;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->layer < b->layer) - (a->layer > b->layer);
}

/* Sorts the accounts, and updates the map with their final indices. */
static bool order_accounts(struct builder *builder)
{
	struct gmt_diff *diff = builder->diff;

	if (diff->accounts.count)
		qsort(diff->accounts.items, diff->accounts.count, sizeof(*diff->accounts.items),
			by_device_and_layer);
	for (size_t i = 0; i < diff->accounts.count; i++)
		if (!gmt_map_put(&builder->account_ids,
				account_key(diff->accounts.items[i].layer, diff->accounts.items[i].device), i))
			return false;
	return true;
}

/*
 * Writes the name of the site's own line, such as "train.py:42 in forward" or "libext.so:leak
 * (ext.c:12)". Writes the group's name if the line is not known.
 */
static void name_line(const struct gmt_diff *diff, int side, const struct gmt_site *site,
	char *text, size_t size)
{
	const struct gmt_traces *traces = diff->sides[side].traces;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, site->stack, &count);
	const struct gmt_place *place = count ? gmt_traces_place(traces, places[site->own_line]) : NULL;
	char file[1024];

	if (!place || !place->line) {
		snprintf(text, size, "%s", gmt_site_keys_stack(&diff->keys[side], site->stack)->group);
		return;
	}
	gmt_site_key_file(diff->sides[side].recording->directory,
		gmt_traces_string(traces, place->file), file, sizeof(file));
	if (place->kind == GMT_PLACE_PYTHON)
		snprintf(text, size, "%s:%u in %s", file, place->line,
			gmt_traces_string(traces, place->function));
	else
		snprintf(text, size, "%s (%s:%u)",
			gmt_site_keys_place(&diff->keys[side], places[site->own_line]), file, place->line);
}

static void name_row(const struct gmt_diff *diff, int side, const struct gmt_site *site, char *text,
	size_t size)
{
	const struct gmt_diff_side *of = &diff->sides[side];

	switch (diff->options.by) {
	case GMT_DIFF_BY_GROUP:
	case GMT_DIFF_BY_STACK:
		snprintf(text, size, "%s", gmt_site_keys_stack(&diff->keys[side], site->stack)->group);
		break;
	case GMT_DIFF_BY_LINE:
		name_line(diff, side, site, text, size);
		break;
	case GMT_DIFF_BY_OPERATOR:
		gmt_stack_operator(of->traces, site->stack, text, size);
		break;
	case GMT_DIFF_BY_MODULE:
		gmt_stack_module(of->traces, site->stack, text, size);
		break;
	case GMT_DIFF_BY_LIBRARY:
		gmt_stack_library(of->traces, site->stack, text, size);
		break;
	case GMT_DIFF_BY_OWNER:
		snprintf(text, size, "%s", gmt_owners_name(&of->traces->owners, site->owner));
		break;
	case GMT_DIFF_BY_CATEGORY:
		snprintf(text, size, "%s",
			gmt_category_name(gmt_category_of(of->replay, of->traces, of->history, site->id)));
		break;
	case GMT_DIFF_BY_PART:
		snprintf(text, size, "%s",
			gmt_part_name(gmt_part_of(of->traces->stack_frame_kinds.items[site->stack])));
		break;
	}
}

/* Returns the row of a site; adds it if necessary. NULL: memory is exhausted. */
static struct gmt_diff_row *row_of(struct builder *builder, int side, const struct gmt_site *site)
{
	struct gmt_diff *diff = builder->diff;
	const struct gmt_site_key *key = gmt_site_keys_stack(&diff->keys[side], site->stack);
	uint64_t account = 0, index;
	uint32_t identity, name;
	char text[4096];

	gmt_map_find(&builder->account_ids,
		account_key(site->layer, gmt_diff_devices_base(&builder->devices, side, site->device)),
		&account);
	name_row(diff, side, site, text, sizeof(text));
	if (!gmt_intern_text(&diff->names, text, &name))
		return NULL;
	identity = name;
	if (diff->options.by == GMT_DIFF_BY_STACK) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\n%s",
			gmt_site_key_text(key->hash).text);
		if (!gmt_intern_text(&diff->names, text, &identity))
			return NULL;
	}
	if (gmt_map_find(&builder->row_ids, account << 32 | identity, &index))
		return &diff->rows.items[index];

	struct gmt_diff_row *row = gmt_vec_push(&diff->rows);
	if (!row || !gmt_map_put(&builder->row_ids, account << 32 | identity, diff->rows.count - 1))
		return NULL;
	row->account = (uint32_t)account;
	row->name = gmt_intern_get(&diff->names, name)->bytes;
	row->hash = diff->options.by == GMT_DIFF_BY_STACK ? key->hash : 0;
	return row;
}

static bool add_sites(struct builder *builder, int side)
{
	struct gmt_diff *diff = builder->diff;
	const struct gmt_sites *sites = diff->sides[side].sites;

	for (size_t i = 0; i < sites->rows.count; i++) {
		const struct gmt_site *site = &sites->rows.items[i];

		if (!gmt_layer_can_leak(site->layer))
			continue;
		struct gmt_diff_row *row = row_of(builder, side, site);

		if (!row)
			return false;

		struct gmt_diff_pair *amounts = row->amounts;
		amounts[GMT_DIFF_PEAK_BYTES].sides[side] += site->peak_bytes;
		amounts[GMT_DIFF_PEAK_BLOCKS].sides[side] += site->peak_blocks;
		amounts[GMT_DIFF_LIVE_BYTES].sides[side] += site->live_at_end_bytes;
		amounts[GMT_DIFF_LIVE_BLOCKS].sides[side] += site->live_at_end_blocks;
		amounts[GMT_DIFF_TOTAL_BYTES].sides[side] += site->total_bytes;
		amounts[GMT_DIFF_ALLOCS].sides[side] += site->alloc_count;
		amounts[GMT_DIFF_FREES].sides[side] += site->free_count;
		row->sites.sides[side]++;

		const struct gmt_site *largest = row->largest[side];
		if (!largest ||
			gmt_sites_value(site, diff->options.key) > gmt_sites_value(largest, diff->options.key))
			row->largest[side] = site;
	}
	return true;
}

static enum gmt_diff_change classify_change(const struct gmt_diff *diff,
	const struct gmt_diff_row *row)
{
	int64_t difference = gmt_diff_pair_change(&row->amounts[diff->amount]);

	if (!row->amounts[GMT_DIFF_ALLOCS].sides[GMT_DIFF_BASE])
		return GMT_DIFF_ADDED;
	if (!row->amounts[GMT_DIFF_ALLOCS].sides[GMT_DIFF_NEW])
		return GMT_DIFF_GONE;
	return difference > 0 ? GMT_DIFF_GROWN : difference < 0 ? GMT_DIFF_SHRUNK : GMT_DIFF_SAME;
}

/*
 * Orders by the difference of the compared amount, then of the other amounts, largest first, then
 * by name.
 */
static int by_difference(const void *left, const void *right, void *user)
{
	const struct gmt_diff *diff = user;
	const struct gmt_diff_row *a = left, *b = right;
	const enum gmt_diff_amount amounts[] = {
		diff->amount,
		GMT_DIFF_PEAK_BYTES,
		GMT_DIFF_LIVE_BYTES,
		GMT_DIFF_TOTAL_BYTES,
	};

	if (a->account != b->account)
		return a->account < b->account ? -1 : 1;
	for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
		uint64_t x = magnitude_of(gmt_diff_pair_change(&a->amounts[amounts[i]])),
				 y = magnitude_of(gmt_diff_pair_change(&b->amounts[amounts[i]]));

		if (x != y)
			return x > y ? -1 : 1;
	}

	int order = strcmp(a->name, b->name);
	return order ? order : (a->hash > b->hash) - (a->hash < b->hash);
}

static bool is_shown(const struct gmt_diff *diff, int64_t difference)
{
	return difference && magnitude_of(difference) >= diff->options.threshold_bytes;
}

static void finish_rows(struct gmt_diff *diff)
{
	for (size_t i = 0; i < diff->rows.count; i++)
		diff->rows.items[i].change = classify_change(diff, &diff->rows.items[i]);
	if (diff->rows.count)
		qsort_r(diff->rows.items, diff->rows.count, sizeof(*diff->rows.items), by_difference, diff);
	for (size_t i = 0; i < diff->rows.count; i++) {
		const struct gmt_diff_row *row = &diff->rows.items[i];
		struct gmt_diff_account *account = &diff->accounts.items[row->account];
		int64_t difference = gmt_diff_pair_change(&row->amounts[diff->amount]);

		account->rows = account->rows ? account->rows : row;
		account->row_count++;
		account->changes[row->change]++;
		if (is_shown(diff, difference)) {
			account->shown_count++;
			diff->differs = true;
		} else if (difference) {
			account->hidden.rows++;
			account->hidden.difference += difference;
		} else {
			account->same_bytes += row->amounts[diff->amount].sides[GMT_DIFF_NEW];
		}
	}
	for (size_t i = 0; i < diff->accounts.count; i++)
		diff->differs |=
			is_shown(diff, gmt_diff_pair_change(&diff->accounts.items[i].amounts[diff->amount]));
}

static bool fill_diff(struct builder *builder)
{
	struct gmt_diff *diff = builder->diff;

	if (!gmt_diff_devices_match(&builder->devices, diff))
		return false;
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		if (!list_accounts(builder, side))
			return false;
	if (!order_accounts(builder))
		return false;
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		if (!add_sites(builder, side))
			return false;
	if (!gmt_diff_join_moved(diff))
		return false;
	finish_rows(diff);
	return gmt_diff_list_uncertain(diff);
}

enum gmt_status gmt_diff_compute(struct gmt_diff *ret_diff, const struct gmt_diff_side *base,
	const struct gmt_diff_side *now, const struct gmt_diff_options *options,
	struct gmt_error *error)
{
	static const enum gmt_diff_amount amounts[][2] = {
		[GMT_SITES_BY_PEAK] = { GMT_DIFF_PEAK_BYTES, GMT_DIFF_PEAK_BLOCKS },
		[GMT_SITES_BY_LIVE] = { GMT_DIFF_LIVE_BYTES, GMT_DIFF_LIVE_BLOCKS },
		[GMT_SITES_BY_TOTAL] = { GMT_DIFF_TOTAL_BYTES, GMT_DIFF_ALLOCS },
	};
	struct builder builder = { .diff = ret_diff };
	enum gmt_status status = GMT_OK;

	ret_diff->sides[GMT_DIFF_BASE] = *base;
	ret_diff->sides[GMT_DIFF_NEW] = *now;
	ret_diff->options = *options;
	ret_diff->amount = amounts[options->key][0];
	ret_diff->count = amounts[options->key][1];
	for (int side = 0; !status && side < GMT_DIFF_SIDES; side++)
		status = gmt_site_keys_compute(&ret_diff->keys[side], ret_diff->sides[side].recording,
			ret_diff->sides[side].traces, error);
	if (!status && !fill_diff(&builder))
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_map_fini(&builder.account_ids);
	gmt_map_fini(&builder.row_ids);
	gmt_diff_devices_fini(&builder.devices);
	if (status)
		gmt_diff_fini(ret_diff);
	return status;
}

void gmt_diff_fini(struct gmt_diff *diff)
{
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		gmt_site_keys_fini(&diff->keys[side]);
	gmt_intern_fini(&diff->names);
	gmt_vec_fini(&diff->accounts);
	gmt_vec_fini(&diff->rows);
	gmt_vec_fini(&diff->uncertainties);
	gmt_arena_fini(&diff->arena);
}
