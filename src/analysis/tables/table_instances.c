/* SPDX-License-Identifier: MIT */
#include "analysis/tables/table_instances.h"

#include <stdio.h>

enum { LABEL_BYTES = 280 };

/* Working data. */
struct walk {
	struct gmt_table *table;
	const struct gmt_replay *replay;
	const struct gmt_module_tensors *tensors;
	struct gmt_map row_ids; /* account and label to index */
	struct gmt_map sites;   /* set of pairs that were counted: row and site */
};

static bool label_of(const struct walk *walk, const struct gmt_module_tensor *tensor,
	uint32_t *ret_label)
{
	const struct gmt_interned *module = gmt_intern_get(&walk->tensors->modules, tensor->module);
	const char *name = module->length ? module->bytes : "(the outermost module)";
	char label[LABEL_BYTES];

	if (tensor->other_modules)
		snprintf(label, sizeof(label), "%s and %u more", name, (unsigned)tensor->other_modules);
	else
		snprintf(label, sizeof(label), "%s", name);
	return gmt_intern_text(&walk->table->names, label, ret_label);
}

static struct gmt_table_row *get_row(struct walk *walk, const struct gmt_module_tensor *tensor)
{
	uint32_t account_id = walk->replay->accounting.sites.items[tensor->site].account, label;
	const struct gmt_account *account = &walk->replay->accounting.accounts.items[account_id];
	struct gmt_table_row *row;
	uint64_t index;

	if (!label_of(walk, tensor, &label))
		return NULL;
	if (!gmt_map_find(&walk->row_ids, (uint64_t)account_id << 32 | label, &index)) {
		struct gmt_table_instance *instance = gmt_vec_push(&walk->table->instances);

		row = gmt_vec_push(&walk->table->rows);
		if (!instance || !row)
			return NULL;
		index = walk->table->rows.count - 1;
		*instance = (struct gmt_table_instance){ 0 };
		*row = (struct gmt_table_row){
			.layer = account->layer,
			.device = account->device,
			.number = GMT_TABLE_INSTANCE | label,
			.name = gmt_intern_get(&walk->table->names, label)->bytes,
			.instance_plus_1 = (uint32_t)walk->table->instances.count,
		};
		if (!gmt_map_put(&walk->row_ids, (uint64_t)account_id << 32 | label, index))
			return NULL;
	}
	return &walk->table->rows.items[index];
}

static bool count_site(struct walk *walk, struct gmt_table_row *row, uint32_t site)
{
	uint64_t key = (uint64_t)(row - walk->table->rows.items) << 32 | site, unused;

	if (gmt_map_find(&walk->sites, key, &unused))
		return true;
	row->sites++;
	return gmt_map_put(&walk->sites, key, 0);
}

static bool add(struct walk *walk, const struct gmt_module_tensor *tensor,
	struct gmt_table_taken *taken)
{
	struct gmt_table_row *row = get_row(walk, tensor);
	struct gmt_table_instance *instance;

	if (!row || !count_site(walk, row, tensor->site))
		return false;
	instance = &walk->table->instances.items[row->instance_plus_1 - 1];
	if (tensor->at_peak) {
		row->peak_bytes += tensor->size_bytes;
		row->peak_blocks++;
		taken->peak_bytes += tensor->size_bytes;
		taken->peak_blocks++;
		instance->roles[tensor->role].peak_bytes += tensor->size_bytes;
	}
	if (tensor->at_end) {
		row->live_bytes += tensor->size_bytes;
		row->live_blocks++;
		taken->live_bytes += tensor->size_bytes;
		taken->live_blocks++;
		instance->roles[tensor->role].live_bytes += tensor->size_bytes;
	}
	row->total_bytes = gmt_account_sum_bytes(row->total_bytes, tensor->size_bytes);
	row->allocs++;
	taken->total_bytes = gmt_account_sum_bytes(taken->total_bytes, tensor->size_bytes);
	taken->allocs++;
	instance->roles[tensor->role].total_bytes =
		gmt_account_sum_bytes(instance->roles[tensor->role].total_bytes, tensor->size_bytes);
	if (tensor->size_bytes > row->largest_bytes)
		row->largest_bytes = tensor->size_bytes;
	return true;
}

bool gmt_table_add_instances(struct gmt_table *table, const struct gmt_replay *replay,
	const struct gmt_module_tensors *tensors, struct gmt_instance_shares *ret_taken)
{
	struct walk walk = { .table = table, .replay = replay, .tensors = tensors };
	bool done = true;

	if (!tensors->items.count)
		return true;
	/* The reserved memory is zeroed, because the array was never longer. */
	if (!gmt_vec_reserve(ret_taken, replay->accounting.sites.count))
		return false;
	ret_taken->count = replay->accounting.sites.count;
	for (size_t i = 0; done && i < tensors->items.count; i++)
		done =
			add(&walk, &tensors->items.items[i], &ret_taken->items[tensors->items.items[i].site]);
	gmt_map_fini(&walk.row_ids);
	gmt_map_fini(&walk.sites);
	return done;
}

static uint64_t subtract(uint64_t all, uint64_t taken)
{
	return taken < all ? all - taken : 0;
}

bool gmt_table_subtract_instances(const struct gmt_instance_shares *taken, struct gmt_site *site)
{
	const struct gmt_table_taken *of_site;

	if (site->id >= taken->count)
		return true;
	of_site = &taken->items[site->id];
	site->peak_bytes = subtract(site->peak_bytes, of_site->peak_bytes);
	site->peak_blocks = subtract(site->peak_blocks, of_site->peak_blocks);
	site->live_bytes = subtract(site->live_bytes, of_site->live_bytes);
	site->live_blocks = subtract(site->live_blocks, of_site->live_blocks);
	site->total_bytes = subtract(site->total_bytes, of_site->total_bytes);
	site->alloc_count = subtract(site->alloc_count, of_site->allocs);
	return !of_site->allocs || site->alloc_count || site->peak_bytes || site->live_bytes ||
		site->total_bytes;
}
