/* SPDX-License-Identifier: MIT */
#include "analysis/history/module_tensors.h"

#include <string.h>

#include "analysis/history/history_roles.h"

/*
 * Returns the length of the module's part of a name: "layers.3.attn" of "layers.3.attn.weight". The
 * tensor's own name has no dot.
 */
static size_t module_name_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

/* Returns whether the mark gives a tensor a role and a name. */
static bool names_tensor(const struct gmt_recording_mark *mark)
{
	return gmt_history_role_of_mark(mark->kind) != GMT_ROLE_NONE && *mark->name;
}

uint64_t gmt_module_tensors_next_stamp(struct gmt_module_tensors *tensors)
{
	const struct gmt_recording *recording = tensors->recording;

	while (tensors->next_mark < recording->marks.count &&
		!names_tensor(&recording->marks.items[tensors->next_mark]))
		tensors->next_mark++;
	return tensors->next_mark < recording->marks.count
		? recording->marks.items[tensors->next_mark].stamp
		: UINT64_MAX;
}

/*
 * Stores that `module` names a block. The block keeps the module and the role of its first name.
 * Other modules are only counted.
 */
static bool name_block(struct gmt_module_tensors *tensors, const struct gmt_account_block *block,
	uint8_t role, uint32_t module)
{
	struct gmt_module_tensor *item;
	uint64_t index, unused;

	if (gmt_map_find(&tensors->blocks, block->sequence, &index)) {
		if (gmt_map_find(&tensors->block_modules, index << 32 | module, &unused))
			return true;
		tensors->items.items[index].other_modules++;
		return gmt_map_put(&tensors->block_modules, index << 32 | module, 0);
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
		gmt_map_put(&tensors->block_modules, index << 32 | module, 0);
}

bool gmt_module_tensors_follow(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting, uint64_t stamp)
{
	while (gmt_module_tensors_next_stamp(tensors) < stamp) {
		const struct gmt_recording_mark *mark =
			&tensors->recording->marks.items[tensors->next_mark++];
		const struct gmt_account_block *block = gmt_history_roles_block(accounting, mark->object);
		uint32_t module;

		if (!block)
			continue;
		if (!gmt_intern(&tensors->modules, mark->name, module_name_length(mark->name), &module) ||
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

void gmt_module_tensors_mark_peak(struct gmt_module_tensors *tensors,
	const struct gmt_peaks_blocks *blocks)
{
	for (size_t i = 0; tensors->items.count && i < blocks->count; i++) {
		struct gmt_module_tensor *item = find(tensors, &blocks->items[i].addressed.block);

		if (item)
			item->at_peak = true;
	}
}

void gmt_module_tensors_mark_end(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting)
{
	static const uint8_t layers[] = { GMT_LAYER_TORCH, GMT_LAYER_CUDA };

	for (size_t i = 0; tensors->items.count && i < sizeof(layers) / sizeof(*layers); i++) {
		struct gmt_addressed_block addressed;
		size_t cursor = 0;

		while (gmt_accounting_next_block(accounting, layers[i], &cursor, &addressed)) {
			struct gmt_module_tensor *item = find(tensors, &addressed.block);

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
	gmt_map_fini(&tensors->block_modules);
}
