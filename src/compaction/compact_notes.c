/* SPDX-License-Identifier: MIT */
/* Keeps clocks, notes, lost events, pools and call counts. */
#include <string.h>

#include "compaction/compact_internal.h"

bool gmt_compact_take_clock(struct gmt_compactor *compactor, const struct gmt_clock *row)
{
	struct gmt_clock *slot;

	compactor->last_clock = *row;
	if (compactor->clocks_seen++ % compactor->clock_stride)
		return true;
	if (compactor->clocks.count >= GMT_COMPACT_MAX_CLOCKS) {
		for (size_t i = 0; i < GMT_COMPACT_MAX_CLOCKS / 2; i++)
			compactor->clocks.items[i] = compactor->clocks.items[2 * i];
		compactor->clocks.count = GMT_COMPACT_MAX_CLOCKS / 2;
		compactor->clock_stride *= 2;
	}
	slot = gmt_vec_push(&compactor->clocks);
	if (slot)
		*slot = *row;
	return slot;
}

/* Keeps the last count of each thread and reason, and each note once. */
static bool keep_note_or_drop(struct gmt_compactor *compactor, bool is_drop, struct gmt_slice text,
	uint32_t thread, uint64_t count)
{
	uint32_t length = text.length < sizeof(compactor->notes.items->text)
		? text.length
		: (uint32_t)sizeof(compactor->notes.items->text);
	struct gmt_compact_note *slot;

	for (size_t i = 0; i < (is_drop ? compactor->drops.count : compactor->notes.count); i++) {
		slot = is_drop ? &compactor->drops.items[i] : &compactor->notes.items[i];
		if (slot->thread == thread && slot->length == length &&
			memcmp(slot->text, text.text, length) == 0) {
			slot->count = count;
			return true;
		}
	}
	/* If there are too many threads, the losses of further threads count as those of no thread. */
	if (is_drop && compactor->drops.count >= GMT_COMPACT_MAX_NOTES && thread) {
		for (size_t i = 0; i < compactor->drops.count; i++)
			if (!compactor->drops.items[i].thread && compactor->drops.items[i].length == length &&
				memcmp(compactor->drops.items[i].text, text.text, length) == 0) {
				compactor->drops.items[i].count += count;
				return true;
			}
		thread = 0;
	}
	if (!is_drop && compactor->notes.count >= GMT_COMPACT_MAX_NOTES)
		return true;
	slot = is_drop ? gmt_vec_push(&compactor->drops) : gmt_vec_push(&compactor->notes);
	if (!slot)
		return false;
	memcpy(slot->text, text.text, length);
	slot->length = length;
	slot->thread = thread;
	slot->count = count;
	return true;
}

static bool keep_pool(struct gmt_compactor *compactor, const struct gmt_pool *row)
{
	struct gmt_pool *slot;

	for (size_t i = 0; i < compactor->pools.count; i++)
		if (compactor->pools.items[i].handle == row->handle &&
			compactor->pools.items[i].device == row->device) {
			compactor->pools.items[i] = *row;
			return true;
		}
	slot = compactor->pools.count < GMT_COMPACT_MAX_NOTES
		? gmt_vec_push(&compactor->pools)
		: &compactor->pools.items[row->stamp % GMT_COMPACT_MAX_NOTES];
	if (slot)
		*slot = *row;
	return slot;
}

bool gmt_compact_take_note(struct gmt_compactor *compactor, uint32_t kind, const void *row)
{
	const struct gmt_drop *drop = row;
	const struct gmt_calls *calls = row;

	switch (kind) {
	case GMT_RECORD_DROP:
		return keep_note_or_drop(compactor, true, drop->reason, drop->thread, drop->count);
	case GMT_RECORD_NOTE:
		return keep_note_or_drop(compactor, false, ((const struct gmt_note *)row)->text, 0, 0);
	case GMT_RECORD_CALLS:
		return gmt_map_put(&compactor->calls, calls->api,
			calls->count < UINT64_MAX ? calls->count : 0);
	case GMT_RECORD_POOL:
		return keep_pool(compactor, row);
	case GMT_RECORD_OVERHEAD:
		compactor->overhead = *(const struct gmt_overhead *)row;
		compactor->has_overhead = true;
		return true;
	}
	return true;
}
