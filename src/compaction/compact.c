/* SPDX-License-Identifier: MIT */
#include "compaction/compact.h"

#include <stddef.h>
#include <string.h>

#include "base/pages.h"
#include "compaction/compact_internal.h"

enum { DEFAULT_WAITING = 1 << 18 };

enum gmt_status gmt_compact_open(const struct gmt_compact_options *options,
	struct gmt_compactor **ret_compactor, struct gmt_error *error)
{
	struct gmt_compactor *compactor = gmt_pages_grow(NULL, 0, sizeof(*compactor));

	if (!compactor)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	compactor->options = *options;
	if (!compactor->options.max_waiting)
		compactor->options.max_waiting = DEFAULT_WAITING;
	gmt_compact_interpret_init(compactor);
	gmt_compact_oom_outcomes_init(compactor);
	compactor->clock_stride = 1;
	for (size_t i = 0; i < options->mark_count; i++)
		if (!gmt_compact_take_mark(compactor, &options->marks[i])) {
			gmt_compact_close(compactor);
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		}
	*ret_compactor = compactor;
	return GMT_OK;
}

static bool copy_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count)
{
	return compactor->options.write(compactor->options.user, kind, rows, count);
}

/* --- definitions: the compactor copies them to the output, and keeps what events need -------- */

static bool note_threads(struct gmt_compactor *compactor, const struct gmt_thread *rows,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t name = gmt_hash_bytes(rows[i].name.text, rows[i].name.length) >> 1;

		if (!gmt_map_put(&compactor->thread_names, rows[i].id, name) ||
			(gmt_backward_attribution_is_autograd(rows[i].name) &&
				!gmt_backward_attribution_register_thread(&compactor->backward_attribution,
					rows[i].id, true)))
			return false;
	}
	return true;
}

static bool note_names(struct gmt_compactor *compactor, const struct gmt_name *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t text, length = rows[i].text.length < 256 ? rows[i].text.length : 256;

		if (!gmt_intern(&compactor->texts, rows[i].text.text, length, &text) ||
			!gmt_map_put(&compactor->name_texts, rows[i].id, text))
			return false;
	}
	return true;
}

/* Notes which functions, frames and stacks belong to a backward call. */
static bool note_backward_calls(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count)
{
	uint64_t found;

	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_CODE) {
			const struct gmt_code *code = (const struct gmt_code *)rows + i;

			if (gmt_backward_attribution_is_call(code->file, code->function) &&
				!gmt_map_put(&compactor->backward_codes, code->id, 1))
				return false;
		} else if (kind == GMT_RECORD_FRAME) {
			const struct gmt_frame *frame = (const struct gmt_frame *)rows + i;

			if (gmt_map_find(&compactor->backward_codes, frame->code, &found) &&
				!gmt_map_put(&compactor->backward_frames, frame->id, 1))
				return false;
		} else {
			const struct gmt_frames *frames = (const struct gmt_frames *)rows + i;
			bool is_call = false;

			for (uint32_t j = 0; j < frames->items.count && !is_call; j++)
				is_call =
					gmt_map_find(&compactor->backward_frames, frames->items.items[j] >> 1, &found);
			if (is_call && !gmt_map_put(&compactor->backward_stacks, frames->id, 1))
				return false;
		}
	}
	return true;
}

/* --- events ---------------------------------------------------------------------------------- */

/*
 * A thread's clock never goes back, so the order in the file is the order within a thread (as in
 * reader/load/load.c).
 */
static bool clamp_stamp(struct gmt_compactor *compactor, struct gmt_event *event)
{
	uint64_t last = 0;

	if (gmt_map_find(&compactor->thread_stamps, event->thread, &last) && event->stamp < last)
		event->stamp = last;
	return event->stamp == last ||
		gmt_map_put(&compactor->thread_stamps, event->thread, event->stamp);
}

static bool add_waiting(struct gmt_compactor *compactor, const struct gmt_event *row)
{
	struct gmt_priority_queue_entry entry = { .order = compactor->arrivals++ };
	struct gmt_event *slot;

	if (compactor->unused.count) {
		entry.item = compactor->unused.items[compactor->unused.count - 1];
		slot = &compactor->waiting.items[entry.item];
	} else {
		slot = gmt_vec_push(&compactor->waiting);
		entry.item = (uint32_t)compactor->waiting.count - 1;
		if (!slot || !gmt_vec_reserve(&compactor->unused, compactor->waiting.count))
			return false;
	}
	if (compactor->unused.count)
		compactor->unused.count--;
	*slot = *row;
	if (!clamp_stamp(compactor, slot))
		return false;
	entry.stamp = slot->stamp;
	return gmt_priority_queue_push(&compactor->queue, entry);
}

/* Copies events after the cut to the output. In a file, events hold differences of totals. */
static bool copy_events(struct gmt_compactor *compactor, const struct gmt_event *rows,
	uint32_t count)
{
	while (count) {
		uint32_t part = count < GMT_COMPACT_ROWS_PER_BLOCK ? count : GMT_COMPACT_ROWS_PER_BLOCK;

		if (!gmt_vec_reserve(&compactor->out, GMT_COMPACT_ROWS_PER_BLOCK))
			return false;
		memcpy(compactor->out.items, rows, part * sizeof(*rows));
		if (!gmt_compact_write_events(compactor, compactor->out.items, part))
			return false;
		rows += part;
		count -= part;
	}
	return true;
}

static bool take_events(struct gmt_compactor *compactor, const struct gmt_event *rows,
	uint32_t count)
{
	if (compactor->state >= GMT_COMPACT_COPYING)
		return copy_events(compactor, rows, count);
	for (uint32_t i = 0; i < count; i++) {
		compactor->seen_events++;
		/*
		 * The compactor cannot summarize events of layers and kinds that this version does not
		 * know.
		 */
		if (gmt_layer_name(rows[i].layer) && rows[i].layer < GMT_ACCOUNTING_LAYERS &&
			gmt_event_kind_name(rows[i].kind) && !add_waiting(compactor, &rows[i]))
			return false;
	}
	return true;
}

/* --- all rows -------------------------------------------------------------------------------- */

static bool take_prefix_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count)
{
	if (compactor->prefix.exists)
		return true;
	if (!gmt_compacted_prefix_add(&compactor->prefix, kind, rows, count))
		return false;
	if (compactor->prefix.exists) {
		compactor->must_restore = true;
		compactor->seen_events = compactor->prefix.events;
	}
	return true;
}

static bool take_row(struct gmt_compactor *compactor, uint32_t kind, const void *row)
{
	switch (kind) {
	case GMT_RECORD_MARK:
		return gmt_compact_take_mark(compactor, row);
	case GMT_RECORD_SAMPLE:
		return gmt_compact_take_sample(compactor, row);
	case GMT_RECORD_OOM:
		return gmt_compact_take_oom(compactor, row);
	case GMT_RECORD_CLOCK:
		return gmt_compact_take_clock(compactor, row);
	default:
		return gmt_compact_take_note(compactor, kind, row);
	}
}

static bool take_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count)
{
	const struct gmt_record_info *record = gmt_record_info(kind);

	if (!record)
		return true;
	switch (kind) {
	case GMT_RECORD_THREAD:
		return note_threads(compactor, rows, count) && copy_rows(compactor, kind, rows, count);
	case GMT_RECORD_NAME:
		return note_names(compactor, rows, count) && copy_rows(compactor, kind, rows, count);
	case GMT_RECORD_CODE:
	case GMT_RECORD_FRAME:
	case GMT_RECORD_FRAMES:
		return note_backward_calls(compactor, kind, rows, count) &&
			copy_rows(compactor, kind, rows, count);
	case GMT_RECORD_EVENT:
		return take_events(compactor, rows, count);
	case GMT_RECORD_SYNC:
		return compactor->state < GMT_COMPACT_COPYING || copy_rows(compactor, kind, rows, count);
	case GMT_RECORD_MARK:
	case GMT_RECORD_SAMPLE:
	case GMT_RECORD_OOM:
	case GMT_RECORD_CLOCK:
	case GMT_RECORD_DROP:
	case GMT_RECORD_NOTE:
	case GMT_RECORD_POOL:
	case GMT_RECORD_CALLS:
	case GMT_RECORD_OVERHEAD:
		if (compactor->state >= GMT_COMPACT_COPYING)
			return copy_rows(compactor, kind, rows, count);
		for (uint32_t i = 0; i < count; i++)
			if (!take_row(compactor, kind, (const char *)rows + (size_t)i * record->row_bytes))
				return false;
		return true;
	case GMT_RECORD_END:
		/* This row must be the last in the output, so it waits until all other rows are written. */
		compactor->end = *(const struct gmt_end *)rows;
		compactor->has_end = true;
		return true;
	}
	return gmt_compacted_prefix_takes(kind) ? take_prefix_rows(compactor, kind, rows, count)
											: copy_rows(compactor, kind, rows, count);
}

bool gmt_compact_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count)
{
	if (!compactor->failed && count)
		compactor->failed = !take_rows(compactor, kind, rows, count);
	return !compactor->failed;
}

void gmt_compact_finish(struct gmt_compactor *compactor)
{
	compactor->finishing = true;
}

/* --- work ------------------------------------------------------------------------------------ */

static bool is_before_cut(const struct gmt_compactor *compactor)
{
	return compactor->queue.entries.count &&
		compactor->queue.entries.items[0].stamp <= compactor->options.cut_stamp;
}

/*
 * Moves the cut before the next event, if that event takes the address of a block whose free is
 * still to come.
 */
static void cut_earlier_if_needed(struct gmt_compactor *compactor)
{
	uint64_t published_until_stamp = compactor->options.published_until_stamp,
			 prefix_cut_stamp = compactor->prefix.exists ? compactor->prefix.cut_stamp : 0;
	const struct gmt_priority_queue_entry *next = compactor->queue.entries.items;

	if (published_until_stamp && is_before_cut(compactor) && next->stamp > published_until_stamp &&
		next->stamp > prefix_cut_stamp &&
		gmt_compact_takes_live_address(compactor, &compactor->waiting.items[next->item]))
		compactor->options.cut_stamp = next->stamp - 1;
}

/* Interprets the first waiting event. */
static bool interpret_one(struct gmt_compactor *compactor)
{
	struct gmt_priority_queue_entry entry;
	struct gmt_event event;

	if (!gmt_priority_queue_pop(&compactor->queue, &entry))
		return true;
	event = compactor->waiting.items[entry.item];
	compactor->unused.items[compactor->unused.count++] = entry.item;
	return gmt_compact_interpret(compactor, &event);
}

/*
 * Interprets events while more than `max_waiting_events` wait. *ret_more: more work can be done
 * now.
 */
static bool interpret_some(struct gmt_compactor *compactor, size_t max_waiting_events,
	uint32_t max_rows, bool *ret_more)
{
	uint32_t done = 0;

	for (; done < max_rows && compactor->queue.entries.count > max_waiting_events; done++) {
		if (!compactor->must_restore)
			cut_earlier_if_needed(compactor);
		if (!is_before_cut(compactor) && !compactor->must_restore)
			break;
		if (!interpret_one(compactor))
			return false;
	}
	*ret_more = done == max_rows;
	return true;
}

static bool read_until_cut(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_more)
{
	bool drains = compactor->must_restore || compactor->finishing;

	/*
	 * Creates the prefix's sites before any survivor is interpreted, so that sites keep their
	 * order.
	 */
	if (compactor->must_restore && !compactor->accounting.sites.count &&
		!gmt_compact_prepare_prefix(compactor))
		return false;
	if (compactor->finishing && !compactor->must_restore && !compactor->has_chosen_cut &&
		!gmt_compact_keep_tail(compactor))
		return false;
	if (!interpret_some(compactor, drains ? 0 : compactor->options.max_waiting, max_rows,
			ret_more) ||
		*ret_more)
		return !compactor->failed;
	if (compactor->must_restore) {
		compactor->must_restore = false;
		return gmt_compact_restore_prefix(compactor);
	}
	/* More events wait than allowed and all of them are after the cut, or the input has ended. */
	if (compactor->finishing || compactor->queue.entries.count > compactor->options.max_waiting) {
		compactor->state = GMT_COMPACT_WRITING_HEAD;
		*ret_more = true;
		return gmt_compact_begin_head(compactor);
	}
	return true;
}

/* Copies the waiting events, which are after the cut, to the output. */
static bool copy_waiting(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_more)
{
	struct gmt_priority_queue_entry entry;

	while (max_rows && compactor->queue.entries.count) {
		uint32_t count = 0;

		if (!gmt_vec_reserve(&compactor->out, GMT_COMPACT_ROWS_PER_BLOCK))
			return false;
		while (count < GMT_COMPACT_ROWS_PER_BLOCK &&
			gmt_priority_queue_pop(&compactor->queue, &entry)) {
			compactor->out.items[count++] = compactor->waiting.items[entry.item];
			compactor->unused.items[compactor->unused.count++] = entry.item;
		}
		if (!gmt_compact_write_events(compactor, compactor->out.items, count))
			return false;
		max_rows -= count < max_rows ? count : max_rows;
	}
	*ret_more = compactor->queue.entries.count;
	return true;
}

static bool do_work(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_more)
{
	bool done;

	*ret_more = false;
	switch (compactor->state) {
	case GMT_COMPACT_READING:
		return read_until_cut(compactor, max_rows, ret_more);
	case GMT_COMPACT_WRITING_HEAD:
		if (!gmt_compact_write_head(compactor, max_rows, &done))
			return false;
		if (done)
			compactor->state = GMT_COMPACT_COPYING;
		*ret_more = true;
		return true;
	case GMT_COMPACT_COPYING:
		if (!copy_waiting(compactor, max_rows, ret_more) || *ret_more || !compactor->finishing)
			return !compactor->failed;
		compactor->state = GMT_COMPACT_ENDED;
		return !compactor->has_end || copy_rows(compactor, GMT_RECORD_END, &compactor->end, 1);
	case GMT_COMPACT_ENDED:
		return true;
	}
	return true;
}

bool gmt_compact_work(struct gmt_compactor *compactor, uint32_t max_rows)
{
	bool more;

	if (compactor->failed)
		return false;
	if (!do_work(compactor, max_rows ? max_rows : 1, &more)) {
		compactor->failed = true;
		return false;
	}
	return more;
}

bool gmt_compact_failed(const struct gmt_compactor *compactor)
{
	return compactor->failed;
}

uint64_t gmt_compact_compacted_events(const struct gmt_compactor *compactor)
{
	return compactor->compacted_events;
}

static void fini_maps(struct gmt_compactor *compactor)
{
	struct gmt_map *const maps[] = {
		&compactor->thread_stamps,
		&compactor->trace_ids,
		&compactor->caller_trace_ids,
		&compactor->backward_codes,
		&compactor->backward_frames,
		&compactor->backward_stacks,
		&compactor->thread_names,
		&compactor->graph_ids,
		&compactor->unlaunched_nodes,
		&compactor->objects_by_key,
		&compactor->heap_events,
		&compactor->heap_marks,
		&compactor->name_texts,
		&compactor->calls,
		&compactor->device_ids,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		gmt_map_fini(maps[i]);
}

void gmt_compact_close(struct gmt_compactor *compactor)
{
	if (!compactor)
		return;
	fini_maps(compactor);
	gmt_priority_queue_fini(&compactor->queue);
	gmt_priority_queue_fini(&compactor->head);
	gmt_vec_fini(&compactor->waiting);
	gmt_vec_fini(&compactor->unused);
	gmt_event_interpreter_fini(&compactor->interpreter);
	gmt_accounting_fini(&compactor->accounting);
	gmt_vec_fini(&compactor->heaps);
	gmt_compacted_prefix_fini(&compactor->prefix);
	gmt_vec_fini(&compactor->traces);
	gmt_vec_fini(&compactor->requesters);
	gmt_backward_attribution_fini(&compactor->backward_attribution);
	gmt_vec_fini(&compactor->survivors);
	gmt_vec_fini(&compactor->memories);
	gmt_vec_fini(&compactor->mapping_survivors);
	gmt_vec_fini(&compactor->graphs);
	gmt_vec_fini(&compactor->free_graphs);
	gmt_vec_fini(&compactor->heap_names);
	gmt_intern_fini(&compactor->texts);
	gmt_vec_fini(&compactor->refusals);
	gmt_vec_fini(&compactor->devices);
	gmt_vec_fini(&compactor->out);
	gmt_vec_fini(&compactor->prefix_sites);
	gmt_compact_marks_fini(compactor);
	gmt_compact_oom_outcomes_fini(compactor);
	gmt_pages_free(compactor, sizeof(*compactor));
}
