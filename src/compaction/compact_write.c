/* SPDX-License-Identifier: MIT */
/*
 * Writes the head of a compacted recording: the survivors, the past_* rows, and the moments that
 * waited after the cut.
 */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_parts.h"
#include "format/encoding/event_totals.h"

enum { REFUSAL_BIT = INT32_MIN, MAX_REFERENCES = 65536 };

static bool write(struct gmt_compactor *compactor, uint32_t kind, const void *rows, uint32_t count)
{
	return !count || compactor->options.write(compactor->options.user, kind, rows, count);
}

bool gmt_compact_write_events(struct gmt_compactor *compactor, struct gmt_event *rows,
	uint32_t count)
{
	gmt_event_totals_to_differences(rows, count);
	return write(compactor, GMT_RECORD_EVENT, rows, count);
}

/* Writes many rows of one kind, in blocks. */
static bool write_all(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	size_t count)
{
	size_t row_bytes = gmt_record_info(kind)->row_bytes;

	for (size_t at = 0; at < count; at += GMT_COMPACT_WRITE_ROWS)
		if (!write(compactor, kind, (const char *)rows + at * row_bytes,
				(uint32_t)(count - at < GMT_COMPACT_WRITE_ROWS ? count - at
															   : GMT_COMPACT_WRITE_ROWS)))
			return false;
	return true;
}

/* --- survivors ------------------------------------------------------------------------------- */

static bool list_refusals(struct gmt_compactor *compactor)
{
	for (uint32_t i = 0; i < compactor->refusals.count; i++)
		if (!gmt_queue_push(&compactor->head,
				(struct gmt_queue_entry){
					.stamp = compactor->refusals.items[i].stamp,
					.order = UINT64_C(6) << 32,
					.item = i | (uint32_t)REFUSAL_BIT,
				}))
			return false;
	return true;
}

bool gmt_compact_begin_head(struct gmt_compactor *compactor)
{
	uint64_t cut = compactor->options.cut_stamp;

	compactor->head_part = 0;
	compactor->list_layer = 0;
	compactor->list_cursor = 0;
	return gmt_compact_process_moments(compactor, cut == UINT64_MAX ? cut : cut + 1) &&
		gmt_compact_end_steps(compactor) && gmt_compact_list_memory(compactor) &&
		gmt_compact_list_graphs(compactor) && list_refusals(compactor) &&
		gmt_compact_close_oom_outcomes(compactor);
}

/* Queues live blocks, a limited number per call. */
static bool list_blocks(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	static const uint8_t layers[] = { GMT_ACCOUNTING_ALL_OF_CUDA, GMT_LAYER_TORCH,
		GMT_LAYER_CUSTOM };
	struct gmt_account_place place;

	*ret_done = false;
	while (max_rows) {
		struct gmt_compact_survivor *survivor;

		if (!gmt_accounting_next_block(&compactor->accounting, layers[compactor->list_layer],
				&compactor->list_cursor, &place)) {
			compactor->list_cursor = 0;
			if (++compactor->list_layer < sizeof(layers))
				continue;
			*ret_done = true;
			return true;
		}
		max_rows--;
		if (!place.block.tag)
			continue;
		survivor = &compactor->survivors.items[place.block.tag - 1];
		survivor->stamp = place.block.stamp;
		survivor->size_bytes = place.block.size_bytes;
		for (uint32_t i = 0; i < place.block.references && i < MAX_REFERENCES; i++)
			if (!gmt_queue_push(&compactor->head,
					(struct gmt_queue_entry){
						.stamp = survivor->stamp,
						.order = UINT64_C(3) << 32 | i,
						.item = place.block.tag - 1,
					}))
				return false;
	}
	return true;
}

/*
 * Returns the backward call that an event of autograd's thread worked for. UINT32_MAX says that
 * there was no such call.
 */
static uint32_t caller_of(const struct gmt_compactor *compactor,
	const struct gmt_compact_place *place, uint32_t thread)
{
	if (place->caller || (!place->stack && !place->frames) ||
		!gmt_backward_attribution_is_autograd_thread(&compactor->backward_attribution, thread))
		return place->caller;
	return UINT32_MAX;
}

static struct gmt_event event_of(const struct gmt_compactor *compactor,
	const struct gmt_compact_survivor *survivor)
{
	const struct gmt_compact_place *place = &compactor->places.items[survivor->place];

	return (struct gmt_event){
		.stamp = survivor->stamp,
		.thread = survivor->thread,
		.kind = survivor->kind,
		.layer = survivor->layer,
		.space = survivor->space,
		.device = survivor->device,
		.api = survivor->api,
		.address = survivor->address,
		.size_bytes = survivor->size_bytes,
		.stack = place->stack,
		.frames = place->frames,
		.stream = survivor->stream,
		.allocated_bytes = survivor->allocated_bytes,
		.reserved_bytes = survivor->reserved_bytes,
		.object = survivor->object,
		.context = survivor->context,
		.caller = caller_of(compactor, place, survivor->thread),
	};
}

static bool write_survivors(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	struct gmt_queue_entry entry;

	if (!gmt_vec_reserve(&compactor->out, GMT_COMPACT_WRITE_ROWS))
		return false;
	while (max_rows && compactor->head.entries.count) {
		uint32_t count = 0;

		while (count < GMT_COMPACT_WRITE_ROWS && gmt_queue_pop(&compactor->head, &entry))
			compactor->out.items[count++] = entry.item & (uint32_t)REFUSAL_BIT
				? compactor->refusals.items[entry.item & INT32_MAX]
				: event_of(compactor, &compactor->survivors.items[entry.item]);
		compactor->head_events += count;
		if (!gmt_compact_write_events(compactor, compactor->out.items, count))
			return false;
		max_rows -= count < max_rows ? count : max_rows;
	}
	*ret_done = !compactor->head.entries.count;
	return true;
}

/* --- moments --------------------------------------------------------------------------------- */

static bool write_step_marks(struct gmt_compactor *compactor,
	const struct gmt_compact_series *series)
{
	for (size_t i = 0; i < series->rows.count; i++) {
		const struct gmt_past_step *row = &series->rows.items[i];
		struct gmt_mark mark = {
			.stamp = row->stamp,
			.thread = row->thread,
			.kind = GMT_MARK_KIND_STEP,
			.source = row->source,
			.name = row->name,
			.object = row->object,
		};

		if ((!i || row[-1].stamp != row->stamp) && !write(compactor, GMT_RECORD_MARK, &mark, 1))
			return false;
	}
	return true;
}

static bool write_marks(struct gmt_compactor *compactor)
{
	uint64_t index;

	for (size_t i = 0; i < compactor->series.count; i++)
		if (!write_step_marks(compactor, &compactor->series.items[i]))
			return false;
	for (size_t i = 0; i < compactor->heap_names.count; i++)
		if (gmt_map_find(&compactor->heap_events, compactor->heap_names.items[i].object, &index) &&
			!write(compactor, GMT_RECORD_MARK, &compactor->heap_names.items[i], 1))
			return false;
	return write_all(compactor, GMT_RECORD_MARK, compactor->kept_marks.items,
			   compactor->kept_marks.count) &&
		write_all(compactor, GMT_RECORD_MARK, compactor->kept_roles.items,
			compactor->kept_roles.count);
}

/* Writes the oom rows of the kept refusals. */
static bool write_ooms(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->ooms.count; i++) {
		const struct gmt_oom *row = &compactor->ooms.items[i];

		for (size_t j = 0; j < compactor->refusals.count; j++)
			if (compactor->refusals.items[j].stamp == row->stamp &&
				compactor->refusals.items[j].thread == row->thread) {
				if (!write(compactor, GMT_RECORD_OOM, row, 1))
					return false;
				break;
			}
	}
	return true;
}

static bool write_texts(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->drops.count; i++) {
		const struct gmt_compact_text *text = &compactor->drops.items[i];
		struct gmt_drop row = { text->thread, { text->text, text->length }, text->count };

		if (!write(compactor, GMT_RECORD_DROP, &row, 1))
			return false;
	}
	for (size_t i = 0; i < compactor->notes.count; i++) {
		const struct gmt_compact_text *text = &compactor->notes.items[i];
		struct gmt_note row = { { text->text, text->length } };

		if (!write(compactor, GMT_RECORD_NOTE, &row, 1))
			return false;
	}
	for (size_t i = 0; i < compactor->calls.capacity; i++) {
		const struct gmt_map_slot *slot = &compactor->calls.slots[i];
		struct gmt_calls row = { .api = (uint16_t)slot->key, .count = slot->value_plus_1 - 1 };

		if (slot->value_plus_1 && !write(compactor, GMT_RECORD_CALLS, &row, 1))
			return false;
	}
	return !compactor->has_overhead ||
		write(compactor, GMT_RECORD_OVERHEAD, &compactor->overhead, 1);
}

static bool write_moments(struct gmt_compactor *compactor)
{
	bool has_last = compactor->clocks.count &&
		compactor->clocks.items[compactor->clocks.count - 1].stamp >= compactor->last_clock.stamp;

	return write_marks(compactor) && write_ooms(compactor) && write_texts(compactor) &&
		write_all(compactor, GMT_RECORD_CLOCK, compactor->clocks.items, compactor->clocks.count) &&
		(has_last || !compactor->clocks_seen ||
			write(compactor, GMT_RECORD_CLOCK, &compactor->last_clock, 1)) &&
		write_all(compactor, GMT_RECORD_POOL, compactor->pools.items, compactor->pools.count);
}

/* --- past_* rows ----------------------------------------------------------------------------- */

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
			.told_allocated_bytes = account->told_allocated_bytes,
			.told_allocated_peak_bytes = account->told_allocated_peak_bytes,
			.told_reserved_bytes = account->told_reserved_bytes,
			.told_reserved_peak_bytes = account->told_reserved_peak_bytes,
			.unseen_bytes = account->unseen_bytes,
			.told_disagreements = account->told_disagreements,
			.held_allocated_bytes = is_torch ? device->held_allocated_bytes : 0,
			.held_reserved_bytes = is_torch ? device->held_reserved_bytes : 0,
			.held_stamp = account->layer == GMT_LAYER_CUDA && device ? device->held_stamp : 0,
		};

		if (!write(compactor, GMT_RECORD_PAST_ACCOUNT, &row, 1))
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
			.held_bytes = held ? device->held[space->space] : 0,
		};

		if (!write(compactor, GMT_RECORD_PAST_SPACE, &row, 1))
			return false;
	}
	return true;
}

/* Maps the address of each name's text to the id of that name. */
static bool list_names(const struct gmt_compactor *compactor, struct gmt_map *ret_ids)
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
		const struct gmt_interpret_heap *heap = &compactor->heaps.items[i];
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

		if (!write(compactor, GMT_RECORD_PAST_HEAP, &row, 1))
			return false;
	}
	return true;
}

static bool write_heaps(struct gmt_compactor *compactor)
{
	struct gmt_map names = { 0 };
	bool done = (!compactor->heaps.count || list_names(compactor, &names)) &&
		write_heap_rows(compactor, &names);

	gmt_map_fini(&names);
	return done;
}

static struct gmt_past_site site_row(const struct gmt_compactor *compactor, uint32_t id)
{
	const struct gmt_account_site *site = &compactor->accounting.sites.items[id];
	const struct gmt_account *account = &compactor->accounting.accounts.items[site->account];
	const struct gmt_compact_place *place =
		&compactor->places.items[compactor->requesters.items[id].place];
	struct gmt_account_amount peak = gmt_account_site_peak(&compactor->accounting, id),
							  heap_peak = gmt_account_site_heap_peak(&compactor->accounting, id);

	return (struct gmt_past_site){
		.layer = account->layer,
		.device = account->device,
		.space = (uint8_t)compactor->accounting.spaces.items[site->space].space,
		.stack = place->stack,
		.frames = place->frames,
		.caller = place->caller,
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
		.oom_count = compactor->requesters.items[id].ooms,
	};
}

static bool write_sites(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	struct gmt_past_site rows[GMT_COMPACT_WRITE_ROWS / 4];
	uint32_t count = 0;

	for (; max_rows && compactor->list_cursor < compactor->accounting.sites.count; max_rows--) {
		rows[count++] = site_row(compactor, (uint32_t)compactor->list_cursor++);
		if (count == GMT_COMPACT_WRITE_ROWS / 4) {
			if (!write(compactor, GMT_RECORD_PAST_SITE, rows, count))
				return false;
			count = 0;
		}
	}
	*ret_done = compactor->list_cursor == compactor->accounting.sites.count;
	return write(compactor, GMT_RECORD_PAST_SITE, rows, count);
}

static bool write_steps(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++)
		if (!write_all(compactor, GMT_RECORD_PAST_STEP, compactor->series.items[i].rows.items,
				compactor->series.items[i].rows.count))
			return false;
	return write_all(compactor, GMT_RECORD_PAST_ANSWER, compactor->answers.items,
		compactor->answers.count);
}

static bool write_fold_row(struct gmt_compactor *compactor)
{
	const struct gmt_accounting_anomalies *anomalies = &compactor->accounting.anomalies;
	const char *why = compactor->options.why ? compactor->options.why : "";
	uint64_t last_stamp = compactor->interpreted_stamp > compactor->marked_stamp
		? compactor->interpreted_stamp
		: compactor->marked_stamp;
	uint64_t calls[16];
	uint32_t count = 0;

	for (size_t i = 0; i < compactor->backward_attribution.threads.count && count < 16; i++) {
		if (!compactor->backward_attribution.threads.items[i].call)
			continue;
		calls[count++] = compactor->backward_attribution.threads.items[i].id;
		calls[count++] = compactor->backward_attribution.threads.items[i].call;
	}

	struct gmt_fold row = {
		.stamp =
			compactor->options.cut_stamp == UINT64_MAX ? last_stamp : compactor->options.cut_stamp,
		.events = compactor->seen_events - compactor->queue.entries.count,
		.survivors = compactor->head_events,
		.why = { why, (uint32_t)strlen(why) },
		.unknown_frees = anomalies->unknown_frees + compactor->interpreter.physical.unknown_handles,
		.missed_frees = anomalies->missed_frees,
		.size_mismatches = anomalies->size_mismatches,
		.refused_frees = anomalies->refused_frees,
		.impossible_sizes = anomalies->impossible_sizes,
		.merged_sites = compactor->merged_sites,
		.calls = { calls, count },
		.oom_retries = compactor->oom_retries,
		.open_ooms = { compactor->open_list.items, (uint32_t)compactor->open_list.count },
	};
	compactor->compacted_events = row.events > row.survivors ? row.events - row.survivors : 0;
	return write(compactor, GMT_RECORD_FOLD, &row, 1);
}

/*
 * Writes marks, samples and refusals that arrived before the cut was reached, but belong after it.
 */
static bool write_after_cut(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->ooms.count; i++)
		if (compactor->ooms.items[i].stamp > compactor->options.cut_stamp &&
			!write(compactor, GMT_RECORD_OOM, &compactor->ooms.items[i], 1))
			return false;
	for (size_t i = 0; i < compactor->late_samples.count; i++)
		if (compactor->late_samples.items[i].stamp > compactor->options.cut_stamp &&
			!write(compactor, GMT_RECORD_SAMPLE, &compactor->late_samples.items[i], 1))
			return false;
	for (struct gmt_mark mark; gmt_compact_next_mark(compactor, UINT64_MAX, &mark);)
		if (!write(compactor, GMT_RECORD_MARK, &mark, 1))
			return false;
	return true;
}

/* The parts in the order of the file. */
enum part { LIST, SURVIVORS, MOMENTS, ACCOUNTS, SITES, STEPS, CURVES, FOLD };

bool gmt_compact_write_head(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	bool part_done = true, done = false;

	switch ((enum part)compactor->head_part) {
	case LIST:
		done = list_blocks(compactor, max_rows, &part_done);
		break;
	case SURVIVORS:
		done = write_survivors(compactor, max_rows, &part_done);
		break;
	case MOMENTS:
		done = write_moments(compactor);
		break;
	case ACCOUNTS:
		compactor->list_cursor = 0;
		done = write_accounts(compactor) && write_spaces(compactor) && write_heaps(compactor);
		break;
	case SITES:
		done = write_sites(compactor, max_rows, &part_done);
		break;
	case STEPS:
		compactor->list_cursor = 0;
		done = write_steps(compactor) && gmt_compact_write_counters(compactor);
		break;
	case CURVES:
		done = gmt_compact_write_curves(compactor, &part_done);
		break;
	case FOLD:
		done = write_fold_row(compactor) && write_after_cut(compactor);
		break;
	}
	*ret_done = done && compactor->head_part == FOLD;
	compactor->head_part += part_done;
	return done;
}
