/* SPDX-License-Identifier: MIT */
#include "analysis/history/module_tensors.h"

#include <string.h>

#include "analysis/history/history_roles.h"

/*
 * The name of a module does not end with a dot. So the last dot separates the module from the
 * tensor's own name.
 */
static size_t module_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

static bool is_wanted(const struct gmt_snapshot_mark *mark)
{
	return gmt_history_role_of_mark(mark->kind) != GMT_ROLE_NONE && *mark->name;
}

uint64_t gmt_module_tensors_next(struct gmt_module_tensors *tensors)
{
	const struct gmt_snapshot *snapshot = tensors->snapshot;

	while (tensors->next < snapshot->marks.count &&
		!is_wanted(&snapshot->marks.items[tensors->next]))
		tensors->next++;
	return tensors->next < snapshot->marks.count ? snapshot->marks.items[tensors->next].stamp
												 : UINT64_MAX;
}

/*
 * Stores the first name and role of a block. A later name is of another module, or of the same
 * tensor.
 */
static bool name_block(struct gmt_module_tensors *tensors, const struct gmt_account_block *block,
	uint8_t role, uint32_t module)
{
	struct gmt_module_tensor *item;
	uint64_t index, unused;

	if (gmt_map_find(&tensors->blocks, block->sequence, &index)) {
		if (gmt_map_find(&tensors->namings, index << 32 | module, &unused))
			return true;
		tensors->items.items[index].others++;
		return gmt_map_put(&tensors->namings, index << 32 | module, 0);
	}
	index = tensors->items.count;
	item = gmt_vec_push(&tensors->items);
	if (!item)
		return false;
	*item = (struct gmt_module_tensor){
		.size_bytes = block->size_bytes,
		.site = block->site,
		.module = module,
		.role = role,
	};
	return gmt_map_put(&tensors->blocks, block->sequence, index) &&
		gmt_map_put(&tensors->namings, index << 32 | module, 0);
}

bool gmt_module_tensors_follow(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting, uint64_t stamp)
{
	while (gmt_module_tensors_next(tensors) < stamp) {
		const struct gmt_snapshot_mark *mark = &tensors->snapshot->marks.items[tensors->next++];
		const struct gmt_account_block *block = gmt_history_roles_block(accounting, mark->object);
		uint32_t module;

		if (!block)
			continue;
		if (!gmt_intern(&tensors->modules, mark->name, module_length(mark->name), &module) ||
			!name_block(tensors, block, gmt_history_role_of_mark(mark->kind), module))
			return false;
	}
	return true;
}

static struct gmt_module_tensor *find(struct gmt_module_tensors *tensors,
	const struct gmt_account_block *block)
{
	uint64_t index;

	return gmt_map_find(&tensors->blocks, block->sequence, &index) ? &tensors->items.items[index]
																   : NULL;
}

void gmt_module_tensors_add_peak(struct gmt_module_tensors *tensors,
	const struct gmt_peaks_blocks *blocks)
{
	for (size_t i = 0; tensors->items.count && i < blocks->count; i++) {
		struct gmt_module_tensor *item = find(tensors, &blocks->items[i].place.block);

		if (item)
			item->at_peak = true;
	}
}

void gmt_module_tensors_take_end(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting)
{
	static const uint8_t layers[] = { GMT_LAYER_TORCH, GMT_LAYER_CUDA };

	for (size_t i = 0; tensors->items.count && i < sizeof(layers) / sizeof(*layers); i++) {
		struct gmt_account_place place;
		size_t cursor = 0;

		while (gmt_accounting_next_block(accounting, layers[i], &cursor, &place)) {
			struct gmt_module_tensor *item = find(tensors, &place.block);

			if (item)
				item->at_end = true;
		}
	}
}

void gmt_module_tensors_fini(struct gmt_module_tensors *tensors)
{
	gmt_intern_fini(&tensors->modules);
	gmt_vec_fini(&tensors->items);
	gmt_map_fini(&tensors->blocks);
	gmt_map_fini(&tensors->namings);
}
