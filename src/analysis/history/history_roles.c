/* SPDX-License-Identifier: MIT */
#include "analysis/history/history_roles.h"

enum gmt_history_role gmt_history_role_of_mark(uint8_t mark_kind)
{
	switch (mark_kind) {
	case GMT_MARK_KIND_PARAMETER:
		return GMT_ROLE_PARAMETER;
	case GMT_MARK_KIND_GRADIENT:
		return GMT_ROLE_GRADIENT;
	case GMT_MARK_KIND_OPTIMIZER_STATE:
		return GMT_ROLE_OPTIMIZER_STATE;
	case GMT_MARK_KIND_BUFFER:
		return GMT_ROLE_BUFFER;
	default:
		return GMT_ROLE_NONE;
	}
}

static bool is_wanted(const struct gmt_recording_mark *mark)
{
	return mark->kind == GMT_MARK_KIND_ROLES ||
		gmt_history_role_of_mark(mark->kind) != GMT_ROLE_NONE;
}

uint64_t gmt_history_roles_next_stamp(struct gmt_history_roles *roles)
{
	const struct gmt_recording *recording = roles->recording;

	while (roles->next < recording->marks.count && !is_wanted(&recording->marks.items[roles->next]))
		roles->next++;
	return roles->next < recording->marks.count ? recording->marks.items[roles->next].stamp
												: UINT64_MAX;
}

const struct gmt_account_block *gmt_history_roles_block(const struct gmt_accounting *accounting,
	uint64_t address)
{
	const struct gmt_account_block *block =
		gmt_accounting_find(accounting, GMT_LAYER_TORCH, GMT_SPACE_DEVICE, address);

	return block ? block
				 : gmt_accounting_find(accounting, GMT_LAYER_CUDA, GMT_SPACE_DEVICE, address);
}

static bool name_block(struct gmt_history_roles *roles, const struct gmt_accounting *accounting,
	const struct gmt_recording_mark *mark)
{
	const struct gmt_account_block *block = gmt_history_roles_block(accounting, mark->object);
	uint64_t key, bytes = 0, unused;

	/* If several modules share memory, each of them names it. It counts once. */
	if (!block || gmt_map_find(&roles->counted, mark->object, &unused))
		return true;
	if (!gmt_map_put(&roles->counted, mark->object, 0))
		return false;
	key = (uint64_t)block->site * GMT_ROLES + gmt_history_role_of_mark(mark->kind);
	gmt_map_find(&roles->named, key, &bytes);
	return gmt_map_put(&roles->named, key, gmt_saturating_add_i64(bytes, block->size_bytes));
}

static void assign_roles(struct gmt_history_roles *roles, struct gmt_history *history,
	const struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < roles->named.capacity; i++) {
		const struct gmt_map_slot *slot = &roles->named.slots[i];
		uint32_t site = (uint32_t)(slot->key / GMT_ROLES);

		if (!slot->value_plus_1 ||
			slot->value_plus_1 - 1 < accounting->sites.items[site].live_bytes / 2)
			continue;
		history->sites.items[site].role = (uint8_t)(slot->key % GMT_ROLES);
		history->roles |= 1u << slot->key % GMT_ROLES;
	}
	gmt_map_fini(&roles->named);
	gmt_map_fini(&roles->counted);
}

bool gmt_history_roles_follow(struct gmt_history_roles *roles, struct gmt_history *history,
	const struct gmt_accounting *accounting, uint64_t stamp)
{
	while (gmt_history_roles_next_stamp(roles) < stamp) {
		const struct gmt_recording_mark *mark = &roles->recording->marks.items[roles->next++];

		if (mark->kind == GMT_MARK_KIND_ROLES)
			assign_roles(roles, history, accounting);
		else if (!name_block(roles, accounting, mark))
			return false;
	}
	return true;
}

void gmt_history_roles_fini(struct gmt_history_roles *roles)
{
	gmt_map_fini(&roles->named);
	gmt_map_fini(&roles->counted);
}
