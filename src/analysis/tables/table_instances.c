/* SPDX-License-Identifier: MIT */
#include "analysis/tables/table_instances.h"

#include <stdio.h>

enum { LABEL_BYTES = 280 };

/* Working data. */
struct builder {
	struct gmt_table *table;
	const struct gmt_replay *replay;
	const struct gmt_module_tensors *tensors;
	struct gmt_map row_ids; /* account and label to index */
	struct gmt_map sites;   /* set of pairs that were counted: row and site */
};

static bool label_of(const struct builder *builder, const struct gmt_module_tensor *tensor,
	uint32_t *ret_label)
{
	const struct gmt_interned *module = gmt_intern_get(&builder->tensors->modules, tensor->module);
	const char *name = module->length ? module->bytes : "(the outermost module)";
	char label[LABEL_BYTES];

	if (tensor->other_modules)
		snprintf(label, sizeof(label), "%s and %u more", name, (unsigned)tensor->other_modules);
	else
		snprintf(label, sizeof(label), "%s", name);
	return gmt_intern_text(&builder->table->names, label, ret_label);
}

static struct gmt_table_row *get_row(struct builder *builder,
	const struct gmt_module_tensor *tensor)
{
	uint32_t account_id = builder->replay->accounting.sites.items[tensor->site].account, label;
	const struct gmt_account *account = &builder->replay->accounting.accounts.items[account_id];
	struct gmt_table_row *row;
	uint64_t index;

	if (!label_of(builder, tensor, &label))
		return NULL;
	if (!gmt_map_find(&builder->row_ids, (uint64_t)account_id << 32 | label, &index)) {
		struct gmt_table_instance *instance = gmt_vec_push(&builder->table->instances);

		row = gmt_vec_push(&builder->table->rows);
		if (!instance || !row)
			return NULL;
		index = builder->table->rows.count - 1;
		*instance = (struct gmt_table_instance){ 0 };
		*row = (struct gmt_table_row){
			.layer = account->layer,
			.device = account->device,
			.number = GMT_TABLE_INSTANCE | label,
			.name = gmt_intern_get(&builder->table->names, label)->bytes,
			.instance_plus_1 = (uint32_t)builder->table->instances.count,
		};
		if (!gmt_map_put(&builder->row_ids, (uint64_t)account_id << 32 | label, index))
			return NULL;
	}
	return &builder->table->rows.items[index];
}

static bool count_site(struct builder *builder, struct gmt_table_row *row, uint32_t site)
{
	uint64_t key = (uint64_t)(row - builder->table->rows.items) << 32 | site, unused;

	if (gmt_map_find(&builder->sites, key, &unused))
		return true;
	row->sites++;
	return gmt_map_put(&builder->sites, key, 0);
}

static bool add(struct builder *builder, const struct gmt_module_tensor *tensor,
	struct gmt_instance_share *shares)
{
	struct gmt_table_row *row = get_row(builder, tensor);
	struct gmt_table_instance *instance;

	if (!row || !count_site(builder, row, tensor->site))
		return false;
	instance = &builder->table->instances.items[row->instance_plus_1 - 1];
	if (tensor->at_peak) {
		row->peak_bytes += tensor->size_bytes;
		row->peak_blocks++;
		shares->peak_bytes += tensor->size_bytes;
		shares->peak_blocks++;
		instance->roles[tensor->role].peak_bytes += tensor->size_bytes;
	}
	if (tensor->at_end) {
		row->live_bytes += tensor->size_bytes;
		row->live_blocks++;
		shares->live_bytes += tensor->size_bytes;
		shares->live_blocks++;
		instance->roles[tensor->role].live_bytes += tensor->size_bytes;
	}
	row->total_bytes = gmt_saturating_add_i64(row->total_bytes, tensor->size_bytes);
	row->allocs++;
	shares->total_bytes = gmt_saturating_add_i64(shares->total_bytes, tensor->size_bytes);
	shares->allocs++;
	instance->roles[tensor->role].total_bytes =
		gmt_saturating_add_i64(instance->roles[tensor->role].total_bytes, tensor->size_bytes);
	if (tensor->size_bytes > row->largest_bytes)
		row->largest_bytes = tensor->size_bytes;
	return true;
}

bool gmt_table_add_instances(struct gmt_table *table, const struct gmt_replay *replay,
	const struct gmt_module_tensors *tensors, struct gmt_instance_shares *ret_shares)
{
	struct builder builder = { .table = table, .replay = replay, .tensors = tensors };
	bool done = true;

	if (!tensors->items.count)
		return true;
	/* The reserved memory is zeroed, because the array was never longer. */
	if (!gmt_vec_reserve(ret_shares, replay->accounting.sites.count))
		return false;
	ret_shares->count = replay->accounting.sites.count;
	for (size_t i = 0; done && i < tensors->items.count; i++)
		done = add(&builder, &tensors->items.items[i],
			&ret_shares->items[tensors->items.items[i].site]);
	gmt_map_fini(&builder.row_ids);
	gmt_map_fini(&builder.sites);
	return done;
}

static uint64_t subtract(uint64_t all, uint64_t shares)
{
	return shares < all ? all - shares : 0;
}

bool gmt_table_subtract_instances(const struct gmt_instance_shares *shares, struct gmt_site *site)
{
	const struct gmt_instance_share *share;

	if (site->id >= shares->count)
		return true;
	share = &shares->items[site->id];
	site->peak_bytes = subtract(site->peak_bytes, share->peak_bytes);
	site->peak_blocks = subtract(site->peak_blocks, share->peak_blocks);
	site->live_at_end_bytes = subtract(site->live_at_end_bytes, share->live_bytes);
	site->live_at_end_blocks = subtract(site->live_at_end_blocks, share->live_blocks);
	site->total_bytes = subtract(site->total_bytes, share->total_bytes);
	site->alloc_count = subtract(site->alloc_count, share->allocs);
	return !share->allocs || site->alloc_count || site->peak_bytes || site->live_at_end_bytes ||
		site->total_bytes;
}
