/* SPDX-License-Identifier: MIT */
/* Writes the head of a folded recording: what survives, the past, and what waited behind the cut. */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_parts.h"
#include "format/encoding/event_totals.h"

enum { REFUSAL_BIT = INT32_MIN, MOST_REFERENCES = 65536 };

static bool write(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	return !count || folder->options.write(folder->options.user, kind, rows, count);
}

bool gmt_fold_write_events(struct gmt_folder *folder, struct gmt_event *rows, uint32_t count)
{
	gmt_event_totals_to_differences(rows, count);
	return write(folder, GMT_RECORD_EVENT, rows, count);
}

/* Many rows of one kind, in blocks. */
static bool write_all(struct gmt_folder *folder, uint32_t kind, const void *rows, size_t count)
{
	size_t row_bytes = gmt_record_info(kind)->row_bytes;

	for (size_t at = 0; at < count; at += GMT_FOLD_WRITE_ROWS)
		if (!write(folder, kind, (const char *)rows + at * row_bytes,
				(uint32_t)(count - at < GMT_FOLD_WRITE_ROWS ? count - at : GMT_FOLD_WRITE_ROWS)))
			return false;
	return true;
}

/* --- survivors ---------------------------------------------------------------------------------------- */

static bool list_refusals(struct gmt_folder *folder)
{
	for (uint32_t i = 0; i < folder->refusals.count; i++)
		if (!gmt_queue_push(&folder->head, (struct gmt_queue_entry){
				.stamp = folder->refusals.items[i].stamp, .order = UINT64_C(6) << 32, .item = i | (uint32_t)REFUSAL_BIT,
			}))
			return false;
	return true;
}

bool gmt_fold_begin_head(struct gmt_folder *folder)
{
	uint64_t cut = folder->options.cut_stamp;

	folder->head_part = 0;
	folder->list_layer = 0;
	folder->list_cursor = 0;
	return gmt_fold_pass_moments(folder, cut == UINT64_MAX ? cut : cut + 1) && gmt_fold_end_steps(folder) &&
		gmt_fold_list_memory(folder) &&
		gmt_fold_list_graphs(folder) && list_refusals(folder) && gmt_fold_close_fates(folder);
}

/* Blocks that live, a few at a time. */
static bool list_blocks(struct gmt_folder *folder, uint32_t max_rows, bool *ret_done)
{
	static const uint8_t layers[] = { GMT_BOOKS_ALL_OF_CUDA, GMT_LAYER_TORCH, GMT_LAYER_CUSTOM };
	struct gmt_books_place place;

	*ret_done = false;
	while (max_rows) {
		struct gmt_fold_survivor *survivor;

		if (!gmt_books_next_block(&folder->books, layers[folder->list_layer], &folder->list_cursor, &place)) {
			folder->list_cursor = 0;
			if (++folder->list_layer < sizeof(layers))
				continue;
			*ret_done = true;
			return true;
		}
		max_rows--;
		if (!place.block.tag)
			continue;
		survivor = &folder->survivors.items[place.block.tag - 1];
		survivor->stamp = place.block.stamp;
		survivor->size_bytes = place.block.size_bytes;
		for (uint32_t i = 0; i < place.block.references && i < MOST_REFERENCES; i++)
			if (!gmt_queue_push(&folder->head, (struct gmt_queue_entry){
					.stamp = survivor->stamp, .order = UINT64_C(3) << 32 | i, .item = place.block.tag - 1,
				}))
				return false;
	}
	return true;
}

/* For whom an event of autograd's thread worked; that it was for nobody is said, too. */
static uint32_t caller_of(const struct gmt_folder *folder, const struct gmt_fold_place *place, uint32_t thread)
{
	if (place->caller || (!place->stack && !place->frames) || !gmt_adoption_has(&folder->adoption, thread))
		return place->caller;
	return UINT32_MAX;
}

static struct gmt_event event_of(const struct gmt_folder *folder, const struct gmt_fold_survivor *survivor)
{
	const struct gmt_fold_place *place = &folder->places.items[survivor->place];

	return (struct gmt_event){
		.stamp = survivor->stamp, .thread = survivor->thread, .kind = survivor->kind, .layer = survivor->layer,
		.space = survivor->space, .device = survivor->device, .api = survivor->api, .address = survivor->address,
		.size_bytes = survivor->size_bytes, .stack = place->stack, .frames = place->frames,
		.stream = survivor->stream, .allocated_bytes = survivor->allocated_bytes,
		.reserved_bytes = survivor->reserved_bytes, .object = survivor->object, .context = survivor->context,
		.caller = caller_of(folder, place, survivor->thread),
	};
}

static bool write_survivors(struct gmt_folder *folder, uint32_t max_rows, bool *ret_done)
{
	struct gmt_queue_entry entry;

	if (!gmt_vec_reserve(&folder->out, GMT_FOLD_WRITE_ROWS))
		return false;
	while (max_rows && folder->head.entries.count) {
		uint32_t count = 0;

		while (count < GMT_FOLD_WRITE_ROWS && gmt_queue_pop(&folder->head, &entry))
			folder->out.items[count++] = entry.item & (uint32_t)REFUSAL_BIT ?
				folder->refusals.items[entry.item & INT32_MAX] : event_of(folder, &folder->survivors.items[entry.item]);
		folder->head_events += count;
		if (!gmt_fold_write_events(folder, folder->out.items, count))
			return false;
		max_rows -= count < max_rows ? count : max_rows;
	}
	*ret_done = !folder->head.entries.count;
	return true;
}

/* --- moments ------------------------------------------------------------------------------------------ */

static bool write_step_marks(struct gmt_folder *folder, const struct gmt_fold_series *series)
{
	for (size_t i = 0; i < series->rows.count; i++) {
		const struct gmt_past_step *row = &series->rows.items[i];
		struct gmt_mark mark = {
			.stamp = row->stamp, .thread = row->thread, .kind = GMT_MARK_KIND_STEP, .source = row->source,
			.name = row->name, .object = row->object,
		};

		if ((!i || row[-1].stamp != row->stamp) && !write(folder, GMT_RECORD_MARK, &mark, 1))
			return false;
	}
	return true;
}

static bool write_marks(struct gmt_folder *folder)
{
	uint64_t index;

	for (size_t i = 0; i < folder->series.count; i++)
		if (!write_step_marks(folder, &folder->series.items[i]))
			return false;
	for (size_t i = 0; i < folder->heap_names.count; i++)
		if (gmt_map_find(&folder->heap_events, folder->heap_names.items[i].object, &index) &&
			!write(folder, GMT_RECORD_MARK, &folder->heap_names.items[i], 1))
			return false;
	return write_all(folder, GMT_RECORD_MARK, folder->kept_marks.items, folder->kept_marks.count) &&
		write_all(folder, GMT_RECORD_MARK, folder->kept_roles.items, folder->kept_roles.count);
}

/* Of refusals that are kept. */
static bool write_ooms(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->ooms.count; i++) {
		const struct gmt_oom *row = &folder->ooms.items[i];

		for (size_t j = 0; j < folder->refusals.count; j++)
			if (folder->refusals.items[j].stamp == row->stamp && folder->refusals.items[j].thread == row->thread) {
				if (!write(folder, GMT_RECORD_OOM, row, 1))
					return false;
				break;
			}
	}
	return true;
}

static bool write_texts(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->drops.count; i++) {
		const struct gmt_fold_text *text = &folder->drops.items[i];
		struct gmt_drop row = { text->thread, { text->text, text->length }, text->count };

		if (!write(folder, GMT_RECORD_DROP, &row, 1))
			return false;
	}
	for (size_t i = 0; i < folder->notes.count; i++) {
		const struct gmt_fold_text *text = &folder->notes.items[i];
		struct gmt_note row = { { text->text, text->length } };

		if (!write(folder, GMT_RECORD_NOTE, &row, 1))
			return false;
	}
	for (size_t i = 0; i < folder->calls.capacity; i++) {
		const struct gmt_map_slot *slot = &folder->calls.slots[i];
		struct gmt_calls row = { .api = (uint16_t)slot->key, .count = slot->value_plus_1 - 1 };

		if (slot->value_plus_1 && !write(folder, GMT_RECORD_CALLS, &row, 1))
			return false;
	}
	return !folder->has_overhead || write(folder, GMT_RECORD_OVERHEAD, &folder->overhead, 1);
}

static bool write_moments(struct gmt_folder *folder)
{
	bool has_last = folder->clocks.count &&
		folder->clocks.items[folder->clocks.count - 1].stamp >= folder->last_clock.stamp;

	return write_marks(folder) && write_ooms(folder) && write_texts(folder) &&
		write_all(folder, GMT_RECORD_CLOCK, folder->clocks.items, folder->clocks.count) &&
		(has_last || !folder->clocks_seen || write(folder, GMT_RECORD_CLOCK, &folder->last_clock, 1)) &&
		write_all(folder, GMT_RECORD_POOL, folder->pools.items, folder->pools.count);
}

/* --- the past ----------------------------------------------------------------------------------------- */

static bool write_accounts(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->books.accounts.count; i++) {
		const struct gmt_books_account *account = &folder->books.accounts.items[i];
		const struct gmt_fold_device *device = gmt_fold_find_device(folder, account->device);
		bool is_torch = account->layer == GMT_LAYER_TORCH && device;
		struct gmt_past_account row = {
			.layer = account->layer, .device = account->device, .live_bytes = account->live_bytes,
			.live_blocks = account->live_blocks, .peak_bytes = account->peak_bytes,
			.peak_blocks = account->peak_blocks, .peak_stamp = account->peak_stamp,
			.alloc_count = account->alloc_count, .free_count = account->free_count,
			.total_bytes = account->total_bytes, .refused_count = account->refused_count,
			.has_totals = account->has_totals, .told_allocated_bytes = account->told_allocated_bytes,
			.told_allocated_peak_bytes = account->told_allocated_peak_bytes,
			.told_reserved_bytes = account->told_reserved_bytes,
			.told_reserved_peak_bytes = account->told_reserved_peak_bytes,
			.unseen_bytes = account->unseen_bytes, .told_disagreements = account->told_disagreements,
			.held_allocated_bytes = is_torch ? device->held_allocated_bytes : 0,
			.held_reserved_bytes = is_torch ? device->held_reserved_bytes : 0,
			.held_stamp = account->layer == GMT_LAYER_CUDA && device ? device->held_stamp : 0,
		};

		if (!write(folder, GMT_RECORD_PAST_ACCOUNT, &row, 1))
			return false;
	}
	return true;
}

static bool write_spaces(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->books.spaces.count; i++) {
		const struct gmt_books_space *space = &folder->books.spaces.items[i];
		const struct gmt_books_account *account = &folder->books.accounts.items[space->account];
		const struct gmt_fold_device *device = gmt_fold_find_device(folder, account->device);
		bool held = device && space->space < GMT_SPACE_COUNT && account->layer == gmt_space_layer(space->space);
		struct gmt_past_space row = {
			.layer = account->layer, .device = account->device, .space = (uint8_t)space->space,
			.peak_bytes = space->peak_bytes, .peak_stamp = space->peak_stamp,
			.held_bytes = held ? device->held[space->space] : 0,
		};

		if (!write(folder, GMT_RECORD_PAST_SPACE, &row, 1))
			return false;
	}
	return true;
}

/* Maps texts of names, by where they lie, to ids of names that have them. */
static bool list_names(const struct gmt_folder *folder, struct gmt_map *ret_ids)
{
	for (size_t i = 0; i < folder->name_texts.capacity; i++) {
		const struct gmt_map_slot *slot = &folder->name_texts.slots[i];
		uint64_t text, before;

		if (!slot->value_plus_1)
			continue;
		text = (uintptr_t)gmt_intern_get(&folder->texts, (uint32_t)(slot->value_plus_1 - 1))->bytes;
		if (!gmt_map_find(ret_ids, text, &before) && !gmt_map_put(ret_ids, text, slot->key))
			return false;
	}
	return true;
}

/* The id of a name that a heap has; 0: none. */
static uint32_t name_id(const struct gmt_map *ids, const char *name)
{
	uint64_t id;

	return *name && gmt_map_find(ids, (uintptr_t)name, &id) ? (uint32_t)id : 0;
}

static bool write_heap_rows(struct gmt_folder *folder, const struct gmt_map *names)
{
	for (size_t i = 0; i < folder->heaps.count; i++) {
		const struct gmt_player_heap *heap = &folder->heaps.items[i];
		const struct gmt_books_heap *books = &folder->books.heaps.items[i];
		struct gmt_past_heap row = {
			.name = name_id(names, heap->name), .device = heap->device, .source = heap->source,
			.heaps = heap->heaps, .max_size_bytes = heap->max_size_bytes, .swept_blocks = heap->swept_blocks,
			.swept_bytes = heap->swept_bytes, .peak_bytes = books->peak_bytes, .peak_blocks = books->peak_blocks,
			.peak_stamp = books->peak_stamp, .alloc_count = books->alloc_count, .free_count = books->free_count,
			.total_bytes = books->total_bytes,
		};

		if (!write(folder, GMT_RECORD_PAST_HEAP, &row, 1))
			return false;
	}
	return true;
}

static bool write_heaps(struct gmt_folder *folder)
{
	struct gmt_map names = { 0 };
	bool done = (!folder->heaps.count || list_names(folder, &names)) && write_heap_rows(folder, &names);

	gmt_map_fini(&names);
	return done;
}

static struct gmt_past_site site_row(const struct gmt_folder *folder, uint32_t id)
{
	const struct gmt_books_site *site = &folder->books.sites.items[id];
	const struct gmt_books_account *account = &folder->books.accounts.items[site->account];
	const struct gmt_fold_place *place = &folder->places.items[folder->makers.items[id].place];
	struct gmt_books_amount peak = gmt_books_site_peak(&folder->books, id),
		heap_peak = gmt_books_site_heap_peak(&folder->books, id);

	return (struct gmt_past_site){
		.layer = account->layer, .device = account->device,
		.space = (uint8_t)folder->books.spaces.items[site->space].space,
		.stack = place->stack, .frames = place->frames, .caller = place->caller, .heap = site->heap_plus_1,
		.thread = folder->makers.items[id].thread, .several = folder->makers.items[id].several,
		.max_live_bytes = site->max_live_bytes, .total_bytes = site->total_bytes, .alloc_count = site->alloc_count,
		.free_count = site->free_count, .refused_count = site->refused_count,
		.peak_bytes = peak.bytes, .peak_blocks = peak.blocks,
		.heap_peak_bytes = heap_peak.bytes, .heap_peak_blocks = heap_peak.blocks,
		.oom_count = folder->makers.items[id].ooms,
	};
}

static bool write_sites(struct gmt_folder *folder, uint32_t max_rows, bool *ret_done)
{
	struct gmt_past_site rows[GMT_FOLD_WRITE_ROWS / 4];
	uint32_t count = 0;

	for (; max_rows && folder->list_cursor < folder->books.sites.count; max_rows--) {
		rows[count++] = site_row(folder, (uint32_t)folder->list_cursor++);
		if (count == GMT_FOLD_WRITE_ROWS / 4) {
			if (!write(folder, GMT_RECORD_PAST_SITE, rows, count))
				return false;
			count = 0;
		}
	}
	*ret_done = folder->list_cursor == folder->books.sites.count;
	return write(folder, GMT_RECORD_PAST_SITE, rows, count);
}

static bool write_steps(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->series.count; i++)
		if (!write_all(folder, GMT_RECORD_PAST_STEP, folder->series.items[i].rows.items, folder->series.items[i].rows.count))
			return false;
	return write_all(folder, GMT_RECORD_PAST_ANSWER, folder->answers.items, folder->answers.count);
}

static bool write_fold(struct gmt_folder *folder)
{
	const struct gmt_books_anomalies *anomalies = &folder->books.anomalies;
	const char *why = folder->options.why ? folder->options.why : "";
	uint64_t last_stamp = folder->played_stamp > folder->marked_stamp ? folder->played_stamp : folder->marked_stamp;
	uint64_t calls[16];
	uint32_t count = 0;

	for (size_t i = 0; i < folder->adoption.threads.count && count < 16; i++) {
		if (!folder->adoption.threads.items[i].call)
			continue;
		calls[count++] = folder->adoption.threads.items[i].id;
		calls[count++] = folder->adoption.threads.items[i].call;
	}

	struct gmt_fold row = {
		.stamp = folder->options.cut_stamp == UINT64_MAX ? last_stamp : folder->options.cut_stamp,
		.events = folder->seen_events - folder->queue.entries.count, .survivors = folder->head_events,
		.why = { why, (uint32_t)strlen(why) },
		.unknown_frees = anomalies->unknown_frees + folder->player.physical.unknown_handles,
		.missed_frees = anomalies->missed_frees, .size_mismatches = anomalies->size_mismatches,
		.refused_frees = anomalies->refused_frees, .impossible_sizes = anomalies->impossible_sizes,
		.merged_sites = folder->merged_sites, .calls = { calls, count }, .oom_retries = folder->oom_retries,
		.open_ooms = { folder->open_list.items, (uint32_t)folder->open_list.count },
	};
	folder->folded_events = row.events > row.survivors ? row.events - row.survivors : 0;
	return write(folder, GMT_RECORD_FOLD, &row, 1);
}

/* Marks, samples and refusals that came while it still read in front of the cut. */
static bool write_late(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->ooms.count; i++)
		if (folder->ooms.items[i].stamp > folder->options.cut_stamp &&
			!write(folder, GMT_RECORD_OOM, &folder->ooms.items[i], 1))
			return false;
	for (size_t i = 0; i < folder->late_samples.count; i++)
		if (folder->late_samples.items[i].stamp > folder->options.cut_stamp &&
			!write(folder, GMT_RECORD_SAMPLE, &folder->late_samples.items[i], 1))
			return false;
	for (struct gmt_mark mark; gmt_fold_next_mark(folder, UINT64_MAX, &mark);)
		if (!write(folder, GMT_RECORD_MARK, &mark, 1))
			return false;
	return true;
}

/* In the order in which they stand in the file. */
enum part { LIST, SURVIVORS, MOMENTS, ACCOUNTS, SITES, STEPS, CURVES, FOLD };

bool gmt_fold_write_head(struct gmt_folder *folder, uint32_t max_rows, bool *ret_done)
{
	bool part_done = true, done = false;

	switch ((enum part)folder->head_part) {
	case LIST:
		done = list_blocks(folder, max_rows, &part_done);
		break;
	case SURVIVORS:
		done = write_survivors(folder, max_rows, &part_done);
		break;
	case MOMENTS:
		done = write_moments(folder);
		break;
	case ACCOUNTS:
		folder->list_cursor = 0;
		done = write_accounts(folder) && write_spaces(folder) && write_heaps(folder);
		break;
	case SITES:
		done = write_sites(folder, max_rows, &part_done);
		break;
	case STEPS:
		folder->list_cursor = 0;
		done = write_steps(folder) && gmt_fold_write_counters(folder);
		break;
	case CURVES:
		done = gmt_fold_write_curves(folder, &part_done);
		break;
	case FOLD:
		done = write_fold(folder) && write_late(folder);
		break;
	}
	*ret_done = done && folder->head_part == FOLD;
	folder->head_part += part_done;
	return done;
}
