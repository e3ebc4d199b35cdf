/* SPDX-License-Identifier: MIT */
/* What a fold keeps of clocks, notes, losses, pools and counts of calls. */
#include <string.h>

#include "compaction/compact_parts.h"

bool gmt_fold_take_clock(struct gmt_folder *folder, const struct gmt_clock *row)
{
	struct gmt_clock *slot;

	folder->last_clock = *row;
	if (folder->clocks_seen++ % folder->clock_stride)
		return true;
	if (folder->clocks.count >= GMT_FOLD_CLOCKS) {
		for (size_t i = 0; i < GMT_FOLD_CLOCKS / 2; i++)
			folder->clocks.items[i] = folder->clocks.items[2 * i];
		folder->clocks.count = GMT_FOLD_CLOCKS / 2;
		folder->clock_stride *= 2;
	}
	slot = gmt_vec_push(&folder->clocks);
	if (slot)
		*slot = *row;
	return slot;
}

/* The last count of a thread and reason; all notes, once each. */
static bool keep_text(struct gmt_folder *folder, bool is_drop, struct gmt_slice text, uint32_t thread, uint64_t count)
{
	uint32_t length = text.length < sizeof(folder->notes.items->text) ? text.length :
		(uint32_t)sizeof(folder->notes.items->text);
	struct gmt_fold_text *slot;

	for (size_t i = 0; i < (is_drop ? folder->drops.count : folder->notes.count); i++) {
		slot = is_drop ? &folder->drops.items[i] : &folder->notes.items[i];
		if (slot->thread == thread && slot->length == length && memcmp(slot->text, text.text, length) == 0) {
			slot->count = count;
			return true;
		}
	}
	/* Losses of threads that are one too many count as those of no thread. */
	if (is_drop && folder->drops.count >= GMT_FOLD_TEXTS && thread) {
		for (size_t i = 0; i < folder->drops.count; i++)
			if (!folder->drops.items[i].thread && folder->drops.items[i].length == length &&
				memcmp(folder->drops.items[i].text, text.text, length) == 0) {
				folder->drops.items[i].count += count;
				return true;
			}
		thread = 0;
	}
	if (!is_drop && folder->notes.count >= GMT_FOLD_TEXTS)
		return true;
	slot = is_drop ? gmt_vec_push(&folder->drops) : gmt_vec_push(&folder->notes);
	if (!slot)
		return false;
	memcpy(slot->text, text.text, length);
	slot->length = length;
	slot->thread = thread;
	slot->count = count;
	return true;
}

static bool keep_pool(struct gmt_folder *folder, const struct gmt_pool *row)
{
	struct gmt_pool *slot;

	for (size_t i = 0; i < folder->pools.count; i++)
		if (folder->pools.items[i].handle == row->handle && folder->pools.items[i].device == row->device) {
			folder->pools.items[i] = *row;
			return true;
		}
	slot = folder->pools.count < GMT_FOLD_TEXTS ? gmt_vec_push(&folder->pools) :
		&folder->pools.items[row->stamp % GMT_FOLD_TEXTS];
	if (slot)
		*slot = *row;
	return slot;
}

bool gmt_fold_take_text(struct gmt_folder *folder, uint32_t kind, const void *row)
{
	const struct gmt_drop *drop = row;
	const struct gmt_calls *calls = row;

	switch (kind) {
	case GMT_RECORD_DROP:
		return keep_text(folder, true, drop->reason, drop->thread, drop->count);
	case GMT_RECORD_NOTE:
		return keep_text(folder, false, ((const struct gmt_note *)row)->text, 0, 0);
	case GMT_RECORD_CALLS:
		return gmt_map_put(&folder->calls, calls->api, calls->count < UINT64_MAX ? calls->count : 0);
	case GMT_RECORD_POOL:
		return keep_pool(folder, row);
	case GMT_RECORD_OVERHEAD:
		folder->overhead = *(const struct gmt_overhead *)row;
		folder->has_overhead = true;
		return true;
	}
	return true;
}
