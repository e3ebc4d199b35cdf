/* SPDX-License-Identifier: MIT */
#include "compaction/compact.h"

#include <stddef.h>
#include <string.h>

#include "base/pages.h"
#include "compaction/compact_parts.h"

enum { DEFAULT_WAITING = 1 << 18 };

enum gmt_status gmt_fold_open(const struct gmt_fold_options *options, struct gmt_folder **ret_folder,
	struct gmt_error *error)
{
	struct gmt_folder *folder = gmt_pages_grow(NULL, 0, sizeof(*folder));

	if (!folder)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	folder->options = *options;
	if (!folder->options.max_waiting)
		folder->options.max_waiting = DEFAULT_WAITING;
	gmt_fold_play_init(folder);
	gmt_fold_fates_init(folder);
	folder->clock_stride = 1;
	for (size_t i = 0; i < options->mark_count; i++)
		if (!gmt_fold_take_mark(folder, &options->marks[i])) {
			gmt_fold_close(folder);
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		}
	*ret_folder = folder;
	return GMT_OK;
}

static bool pass(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	return folder->options.write(folder->options.user, kind, rows, count);
}

/* --- definitions: they pass, and what events need of them stays ---------------------------------------- */

static bool know_threads(struct gmt_folder *folder, const struct gmt_thread *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t name = gmt_hash_bytes(rows[i].name.text, rows[i].name.length) >> 1;

		if (!gmt_map_put(&folder->thread_names, rows[i].id, name) ||
			(gmt_adoption_is_autograd(rows[i].name) && !gmt_adoption_know(&folder->adoption, rows[i].id, true)))
			return false;
	}
	return true;
}

static bool know_names(struct gmt_folder *folder, const struct gmt_name *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t text, length = rows[i].text.length < 256 ? rows[i].text.length : 256;

		if (!gmt_intern(&folder->texts, rows[i].text.text, length, &text) ||
			!gmt_map_put(&folder->name_texts, rows[i].id, text))
			return false;
	}
	return true;
}

/* Which functions, places and stacks are of a backward call. */
static bool know_calls(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	uint64_t found;

	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_CODE) {
			const struct gmt_code *code = (const struct gmt_code *)rows + i;

			if (gmt_adoption_is_call(code->file, code->function) &&
				!gmt_map_put(&folder->call_codes, code->id, 1))
				return false;
		} else if (kind == GMT_RECORD_FRAME) {
			const struct gmt_frame *frame = (const struct gmt_frame *)rows + i;

			if (gmt_map_find(&folder->call_codes, frame->code, &found) &&
				!gmt_map_put(&folder->call_frames, frame->id, 1))
				return false;
		} else {
			const struct gmt_frames *frames = (const struct gmt_frames *)rows + i;
			bool is_call = false;

			for (uint32_t j = 0; j < frames->items.count && !is_call; j++)
				is_call = gmt_map_find(&folder->call_frames, frames->items.items[j] >> 1, &found);
			if (is_call && !gmt_map_put(&folder->call_stacks, frames->id, 1))
				return false;
		}
	}
	return true;
}

/* --- events ------------------------------------------------------------------------------------------- */

/* A thread's clock never goes back: position orders within it (as reader/load/load.c has it). */
static bool clamp(struct gmt_folder *folder, struct gmt_event *event)
{
	uint64_t last = 0;

	if (gmt_map_find(&folder->thread_stamps, event->thread, &last) && event->stamp < last)
		event->stamp = last;
	return event->stamp == last || gmt_map_put(&folder->thread_stamps, event->thread, event->stamp);
}

static bool wait(struct gmt_folder *folder, const struct gmt_event *row)
{
	struct gmt_queue_entry entry = { .order = folder->arrivals++ };
	struct gmt_event *slot;

	if (folder->unused.count) {
		entry.item = folder->unused.items[folder->unused.count - 1];
		slot = &folder->waiting.items[entry.item];
	} else {
		slot = gmt_vec_push(&folder->waiting);
		entry.item = (uint32_t)folder->waiting.count - 1;
		if (!slot || !gmt_vec_reserve(&folder->unused, folder->waiting.count))
			return false;
	}
	if (folder->unused.count)
		folder->unused.count--;
	*slot = *row;
	if (!clamp(folder, slot))
		return false;
	entry.stamp = slot->stamp;
	return gmt_queue_push(&folder->queue, entry);
}

/* Behind the cut: as they are, but for the totals, which are differences in a file. */
static bool pass_events(struct gmt_folder *folder, const struct gmt_event *rows, uint32_t count)
{
	while (count) {
		uint32_t part = count < GMT_FOLD_WRITE_ROWS ? count : GMT_FOLD_WRITE_ROWS;

		if (!gmt_vec_reserve(&folder->out, GMT_FOLD_WRITE_ROWS))
			return false;
		memcpy(folder->out.items, rows, part * sizeof(*rows));
		if (!gmt_fold_write_events(folder, folder->out.items, part))
			return false;
		rows += part;
		count -= part;
	}
	return true;
}

static bool take_events(struct gmt_folder *folder, const struct gmt_event *rows, uint32_t count)
{
	if (folder->state >= GMT_FOLD_PASSING)
		return pass_events(folder, rows, count);
	for (uint32_t i = 0; i < count; i++) {
		folder->seen_events++;
		/* Of layers and kinds that this version does not know nothing can be summed up. */
		if (gmt_layer_name(rows[i].layer) && rows[i].layer < GMT_BOOKS_LAYERS && gmt_kind_name(rows[i].kind) &&
			!wait(folder, &rows[i]))
			return false;
	}
	return true;
}

/* --- all rows ----------------------------------------------------------------------------------------- */

static bool take_past(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	if (folder->past.has_fold)
		return true;
	if (!gmt_past_add(&folder->past, kind, rows, count))
		return false;
	if (folder->past.has_fold) {
		folder->restores = true;
		folder->seen_events = folder->past.fold.events;
	}
	return true;
}

static bool take_row(struct gmt_folder *folder, uint32_t kind, const void *row)
{
	switch (kind) {
	case GMT_RECORD_MARK:
		return gmt_fold_take_mark(folder, row);
	case GMT_RECORD_SAMPLE:
		return gmt_fold_take_sample(folder, row);
	case GMT_RECORD_OOM:
		return gmt_fold_take_oom(folder, row);
	case GMT_RECORD_CLOCK:
		return gmt_fold_take_clock(folder, row);
	default:
		return gmt_fold_take_text(folder, kind, row);
	}
}

static bool take(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	const struct gmt_record_info *record = gmt_record_info(kind);

	if (!record)
		return true;
	switch (kind) {
	case GMT_RECORD_THREAD:
		return know_threads(folder, rows, count) && pass(folder, kind, rows, count);
	case GMT_RECORD_NAME:
		return know_names(folder, rows, count) && pass(folder, kind, rows, count);
	case GMT_RECORD_CODE:
	case GMT_RECORD_FRAME:
	case GMT_RECORD_FRAMES:
		return know_calls(folder, kind, rows, count) && pass(folder, kind, rows, count);
	case GMT_RECORD_EVENT:
		return take_events(folder, rows, count);
	case GMT_RECORD_SYNC:
		return folder->state < GMT_FOLD_PASSING || pass(folder, kind, rows, count);
	case GMT_RECORD_MARK:
	case GMT_RECORD_SAMPLE:
	case GMT_RECORD_OOM:
	case GMT_RECORD_CLOCK:
	case GMT_RECORD_DROP:
	case GMT_RECORD_NOTE:
	case GMT_RECORD_POOL:
	case GMT_RECORD_CALLS:
	case GMT_RECORD_OVERHEAD:
		if (folder->state >= GMT_FOLD_PASSING)
			return pass(folder, kind, rows, count);
		for (uint32_t i = 0; i < count; i++)
			if (!take_row(folder, kind, (const char *)rows + (size_t)i * record->row_bytes))
				return false;
		return true;
	case GMT_RECORD_END:
		/* It is the last: what waits must be in front of it. */
		folder->end = *(const struct gmt_end *)rows;
		folder->has_end = true;
		return true;
	}
	return gmt_past_takes(kind) ? take_past(folder, kind, rows, count) : pass(folder, kind, rows, count);
}

bool gmt_fold_rows(struct gmt_folder *folder, uint32_t kind, const void *rows, uint32_t count)
{
	if (!folder->failed && count)
		folder->failed = !take(folder, kind, rows, count);
	return !folder->failed;
}

void gmt_fold_finish(struct gmt_folder *folder)
{
	folder->finishing = true;
}

/* --- work --------------------------------------------------------------------------------------------- */

static bool is_folded(const struct gmt_folder *folder)
{
	return folder->queue.entries.count && folder->queue.entries.items[0].stamp <= folder->options.cut_stamp;
}

/* The cut comes in front of the next event, where that takes the place of a block whose free is still to come. */
static void cut_earlier_if_needed(struct gmt_folder *folder)
{
	uint64_t sure_stamp = folder->options.sure_stamp, past_stamp = folder->past.has_fold ? folder->past.fold.stamp : 0;
	const struct gmt_queue_entry *next = folder->queue.entries.items;

	if (sure_stamp && is_folded(folder) && next->stamp > sure_stamp && next->stamp > past_stamp &&
		gmt_fold_takes_place(folder, &folder->waiting.items[next->item]))
		folder->options.cut_stamp = next->stamp - 1;
}

/* Plays the first event that waits. */
static bool play_one(struct gmt_folder *folder)
{
	struct gmt_queue_entry entry;
	struct gmt_event event;

	if (!gmt_queue_pop(&folder->queue, &entry))
		return true;
	event = folder->waiting.items[entry.item];
	folder->unused.items[folder->unused.count++] = entry.item;
	return gmt_fold_play(folder, &event);
}

/* Plays while more events wait than `most`; true in *ret_more when there is more to do now. */
static bool play_some(struct gmt_folder *folder, size_t most, uint32_t max_rows, bool *ret_more)
{
	uint32_t done = 0;

	for (; done < max_rows && folder->queue.entries.count > most; done++) {
		if (!folder->restores)
			cut_earlier_if_needed(folder);
		if (!is_folded(folder) && !folder->restores)
			break;
		if (!play_one(folder))
			return false;
	}
	*ret_more = done == max_rows;
	return true;
}

static bool read_on(struct gmt_folder *folder, uint32_t max_rows, bool *ret_more)
{
	bool drains = folder->restores || folder->finishing;

	/* Sites keep their order, where the survivors have all waited. */
	if (folder->restores && !folder->books.sites.count && !gmt_fold_prepare(folder))
		return false;
	if (folder->finishing && !folder->restores && !folder->has_spared && !gmt_fold_spare_end(folder))
		return false;
	if (!play_some(folder, drains ? 0 : folder->options.max_waiting, max_rows, ret_more) || *ret_more)
		return !folder->failed;
	if (folder->restores) {
		folder->restores = false;
		return gmt_fold_restore(folder);
	}
	/* More wait than may, and all of them are behind the cut; or there is no more. */
	if (folder->finishing || folder->queue.entries.count > folder->options.max_waiting) {
		folder->state = GMT_FOLD_HEADING;
		*ret_more = true;
		return gmt_fold_begin_head(folder);
	}
	return true;
}

/* What waited behind the cut. */
static bool pass_waiting(struct gmt_folder *folder, uint32_t max_rows, bool *ret_more)
{
	struct gmt_queue_entry entry;

	while (max_rows && folder->queue.entries.count) {
		uint32_t count = 0;

		if (!gmt_vec_reserve(&folder->out, GMT_FOLD_WRITE_ROWS))
			return false;
		while (count < GMT_FOLD_WRITE_ROWS && gmt_queue_pop(&folder->queue, &entry)) {
			folder->out.items[count++] = folder->waiting.items[entry.item];
			folder->unused.items[folder->unused.count++] = entry.item;
		}
		if (!gmt_fold_write_events(folder, folder->out.items, count))
			return false;
		max_rows -= count < max_rows ? count : max_rows;
	}
	*ret_more = folder->queue.entries.count;
	return true;
}

static bool step(struct gmt_folder *folder, uint32_t max_rows, bool *ret_more)
{
	bool done;

	*ret_more = false;
	switch (folder->state) {
	case GMT_FOLD_READING:
		return read_on(folder, max_rows, ret_more);
	case GMT_FOLD_HEADING:
		if (!gmt_fold_write_head(folder, max_rows, &done))
			return false;
		if (done)
			folder->state = GMT_FOLD_PASSING;
		*ret_more = true;
		return true;
	case GMT_FOLD_PASSING:
		if (!pass_waiting(folder, max_rows, ret_more) || *ret_more || !folder->finishing)
			return !folder->failed;
		folder->state = GMT_FOLD_ENDED;
		return !folder->has_end || pass(folder, GMT_RECORD_END, &folder->end, 1);
	case GMT_FOLD_ENDED:
		return true;
	}
	return true;
}

bool gmt_fold_work(struct gmt_folder *folder, uint32_t max_rows)
{
	bool more;

	if (folder->failed)
		return false;
	if (!step(folder, max_rows ? max_rows : 1, &more)) {
		folder->failed = true;
		return false;
	}
	return more;
}

bool gmt_fold_failed(const struct gmt_folder *folder)
{
	return folder->failed;
}

uint64_t gmt_fold_folded_events(const struct gmt_folder *folder)
{
	return folder->folded_events;
}

static void fini_maps(struct gmt_folder *folder)
{
	struct gmt_map *const maps[] = {
		&folder->thread_stamps, &folder->pair_ids, &folder->place_ids, &folder->call_codes, &folder->call_frames,
		&folder->call_stacks, &folder->thread_names, &folder->graphs_ids, &folder->loose_nodes, &folder->things,
		&folder->heap_events, &folder->heap_marks, &folder->name_texts, &folder->calls, &folder->device_ids,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		gmt_map_fini(maps[i]);
}

void gmt_fold_close(struct gmt_folder *folder)
{
	if (!folder)
		return;
	fini_maps(folder);
	gmt_queue_fini(&folder->queue);
	gmt_queue_fini(&folder->head);
	gmt_vec_fini(&folder->waiting);
	gmt_vec_fini(&folder->unused);
	gmt_player_fini(&folder->player);
	gmt_books_fini(&folder->books);
	gmt_vec_fini(&folder->heaps);
	gmt_past_fini(&folder->past);
	gmt_vec_fini(&folder->places);
	gmt_vec_fini(&folder->makers);
	gmt_adoption_fini(&folder->adoption);
	gmt_vec_fini(&folder->survivors);
	gmt_vec_fini(&folder->memories);
	gmt_vec_fini(&folder->ties);
	gmt_vec_fini(&folder->graphs);
	gmt_vec_fini(&folder->free_graphs);
	gmt_vec_fini(&folder->heap_names);
	gmt_intern_fini(&folder->texts);
	gmt_vec_fini(&folder->refusals);
	gmt_vec_fini(&folder->devices);
	gmt_vec_fini(&folder->out);
	gmt_vec_fini(&folder->past_sites);
	gmt_fold_moments_fini(folder);
	gmt_fold_fates_fini(folder);
	gmt_pages_free(folder, sizeof(*folder));
}
