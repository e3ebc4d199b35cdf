/* SPDX-License-Identifier: MIT */
/* Writes the past_* rows: accounts, spaces, heaps, sites, steps and answers. */
#include "compaction/compact_internal.h"

bool gmt_compact_write_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	size_t count)
{
	size_t row_bytes = gmt_record_info(kind)->row_bytes;

	for (size_t at = 0; at < count; at += GMT_COMPACT_ROWS_PER_BLOCK)
		if (!compactor->options.write(compactor->options.user, kind,
				(const char *)rows + at * row_bytes,
				(uint32_t)(count - at < GMT_COMPACT_ROWS_PER_BLOCK ? count - at
																   : GMT_COMPACT_ROWS_PER_BLOCK)))
			return false;
	return true;
}

static bool write_accounts(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->accounting.accounts.count; i++) {
		const struct gmt_account *account = &compactor->accounting.accounts.items[i];
		const struct gmt_compact_device *device =
			gmt_compact_find_device(compactor, account->device);
		bool is_torch = account->layer == GMT_LAYER_TORCH && device;
		struct gmt_past_account row = {
			.layer = account->layer,
			.device = account->device,
			.live_bytes = account->live_bytes,
			.live_blocks = account->live_blocks,
			.peak_bytes = account->peak_bytes,
			.peak_blocks = account->peak_blocks,
			.peak_stamp = account->peak_stamp,
			.alloc_count = account->alloc_count,
			.free_count = account->free_count,
			.total_bytes = account->total_bytes,
			.refused_count = account->refused_count,
			.has_totals = account->has_totals,
			.reported_allocated_bytes = account->reported_allocated_bytes,
			.reported_allocated_peak_bytes = account->reported_allocated_peak_bytes,
			.reported_reserved_bytes = account->reported_reserved_bytes,
			.reported_reserved_peak_bytes = account->reported_reserved_peak_bytes,
			.unseen_bytes = account->unseen_bytes,
			.reported_disagreements = account->reported_disagreements,
			.held_allocated_bytes = is_torch ? device->peak_allocated_bytes : 0,
			.held_reserved_bytes = is_torch ? device->peak_reserved_bytes : 0,
			.held_stamp = account->layer == GMT_LAYER_CUDA && device ? device->peak_stamp : 0,
		};

		if (!gmt_compact_write_rows(compactor, GMT_RECORD_PAST_ACCOUNT, &row, 1))
			return false;
	}
	return true;
}

static bool write_spaces(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->accounting.spaces.count; i++) {
		const struct gmt_account_space *space = &compactor->accounting.spaces.items[i];
		const struct gmt_account *account = &compactor->accounting.accounts.items[space->account];
		const struct gmt_compact_device *device =
			gmt_compact_find_device(compactor, account->device);
		bool held = device && space->space < GMT_SPACE_COUNT &&
			account->layer == gmt_space_layer(space->space);
		struct gmt_past_space row = {
			.layer = account->layer,
			.device = account->device,
			.space = (uint8_t)space->space,
			.peak_bytes = space->peak_bytes,
			.peak_stamp = space->peak_stamp,
			.held_bytes = held ? device->peak_space_bytes[space->space] : 0,
		};

		if (!gmt_compact_write_rows(compactor, GMT_RECORD_PAST_SPACE, &row, 1))
			return false;
	}
	return true;
}

/* Maps the address of each name's text to the id of that name. */
static bool map_names(const struct gmt_compactor *compactor, struct gmt_map *ret_ids)
{
	for (size_t i = 0; i < compactor->name_texts.capacity; i++) {
		const struct gmt_map_slot *slot = &compactor->name_texts.slots[i];
		uint64_t text, before;

		if (!slot->value_plus_1)
			continue;
		text =
			(uintptr_t)gmt_intern_get(&compactor->texts, (uint32_t)(slot->value_plus_1 - 1))->bytes;
		if (!gmt_map_find(ret_ids, text, &before) && !gmt_map_put(ret_ids, text, slot->key))
			return false;
	}
	return true;
}

/* Returns the id of a heap's name; 0: the heap has no name. */
static uint32_t name_id(const struct gmt_map *ids, const char *name)
{
	uint64_t id;

	return *name && gmt_map_find(ids, (uintptr_t)name, &id) ? (uint32_t)id : 0;
}

static bool write_heap_rows(struct gmt_compactor *compactor, const struct gmt_map *names)
{
	for (size_t i = 0; i < compactor->heaps.count; i++) {
		const struct gmt_interpret_heap_group *heap = &compactor->heaps.items[i];
		const struct gmt_account_heap *accounting = &compactor->accounting.heaps.items[i];
		struct gmt_past_heap row = {
			.name = name_id(names, heap->name),
			.device = heap->device,
			.source = heap->source,
			.heaps = heap->heaps,
			.max_size_bytes = heap->max_size_bytes,
			.swept_blocks = heap->swept_blocks,
			.swept_bytes = heap->swept_bytes,
			.peak_bytes = accounting->peak_bytes,
			.peak_blocks = accounting->peak_blocks,
			.peak_stamp = accounting->peak_stamp,
			.alloc_count = accounting->alloc_count,
			.free_count = accounting->free_count,
			.total_bytes = accounting->total_bytes,
		};

		if (!gmt_compact_write_rows(compactor, GMT_RECORD_PAST_HEAP, &row, 1))
			return false;
	}
	return true;
}

static bool write_heaps(struct gmt_compactor *compactor)
{
	struct gmt_map names = { 0 };
	bool done = (!compactor->heaps.count || map_names(compactor, &names)) &&
		write_heap_rows(compactor, &names);

	gmt_map_fini(&names);
	return done;
}

bool gmt_compact_write_accounts(struct gmt_compactor *compactor)
{
	return write_accounts(compactor) && write_spaces(compactor) && write_heaps(compactor);
}

static struct gmt_past_site site_row(const struct gmt_compactor *compactor, uint32_t id)
{
	const struct gmt_account_site *site = &compactor->accounting.sites.items[id];
	const struct gmt_account *account = &compactor->accounting.accounts.items[site->account];
	const struct gmt_compact_trace *trace =
		&compactor->traces.items[compactor->requesters.items[id].trace];
	struct gmt_account_amount peak = gmt_account_site_peak(&compactor->accounting, id),
							  heap_peak = gmt_account_site_heap_peak(&compactor->accounting, id);

	return (struct gmt_past_site){
		.layer = account->layer,
		.device = account->device,
		.space = (uint8_t)compactor->accounting.spaces.items[site->space].space,
		.stack = trace->stack,
		.frames = trace->frames,
		.caller = trace->caller,
		.heap = site->heap_plus_1,
		.thread = compactor->requesters.items[id].thread,
		.several = compactor->requesters.items[id].several,
		.max_live_bytes = site->max_live_bytes,
		.total_bytes = site->total_bytes,
		.alloc_count = site->alloc_count,
		.free_count = site->free_count,
		.refused_count = site->refused_count,
		.peak_bytes = peak.bytes,
		.peak_blocks = peak.blocks,
		.heap_peak_bytes = heap_peak.bytes,
		.heap_peak_blocks = heap_peak.blocks,
		.oom_count = compactor->requesters.items[id].oom_count,
	};
}

bool gmt_compact_write_sites(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	struct gmt_past_site rows[GMT_COMPACT_ROWS_PER_BLOCK / 4];
	uint32_t count = 0;

	for (; max_rows && compactor->head_cursor < compactor->accounting.sites.count; max_rows--) {
		rows[count++] = site_row(compactor, (uint32_t)compactor->head_cursor++);
		if (count == GMT_COMPACT_ROWS_PER_BLOCK / 4) {
			if (!gmt_compact_write_rows(compactor, GMT_RECORD_PAST_SITE, rows, count))
				return false;
			count = 0;
		}
	}
	*ret_done = compactor->head_cursor == compactor->accounting.sites.count;
	return gmt_compact_write_rows(compactor, GMT_RECORD_PAST_SITE, rows, count);
}

bool gmt_compact_write_steps(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++)
		if (!gmt_compact_write_rows(compactor, GMT_RECORD_PAST_STEP,
				compactor->series.items[i].rows.items, compactor->series.items[i].rows.count))
			return false;
	return gmt_compact_write_rows(compactor, GMT_RECORD_PAST_ANSWER, compactor->answers.items,
		compactor->answers.count);
}
