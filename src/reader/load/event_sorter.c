/* SPDX-License-Identifier: MIT */
#include "reader/load/event_sorter.h"

#include <stdlib.h>
#include <string.h>

/*
 * The window starts at the size that threads typically fill at one time, and grows if a file has
 * more disorder.
 */
enum { FIRST_WINDOW_EVENTS = 1 << 13, MAX_WINDOW_EVENTS = 1 << 19, FIRST_SLOTS = 1 << 10 };

/* Returns the least stamp in the window. */
static uint64_t min_stamp(const struct gmt_event_sorter *sorter)
{
	const struct gmt_stamp_key *window = sorter->window.items;

	if (!sorter->sorted)
		return sorter->min_stamp;
	return sorter->window.count > sorter->sorted && sorter->min_stamp < window->stamp
		? sorter->min_stamp
		: window->stamp;
}

/* Adds slots, and room for as many keys. Call when no slot is free. */
static bool make_slots(struct gmt_event_sorter *sorter)
{
	size_t before = sorter->rows.count, count = before ? 2 * before : FIRST_SLOTS;

	if (count > UINT32_MAX || !gmt_vec_reserve(&sorter->rows, count - before) ||
		!gmt_vec_reserve(&sorter->free, (count - before) / 64))
		return false;
	/* While rows are taken back, there may be more keys than slots. */
	if (count > sorter->window.count &&
		!gmt_vec_reserve(&sorter->window, count - sorter->window.count))
		return false;
	memset(&sorter->free.items[before / 64], 0xff, (count - before) / 8);
	sorter->rows.count = count;
	sorter->free.count = count / 64;
	sorter->free_slots = count - before;
	sorter->free_at = before / 64;
	return true;
}

/* Puts `count` events of a run back into the window, as keys from index `at` on. */
static bool return_rows(struct gmt_event_sorter *sorter, size_t at,
	const struct gmt_recording_event *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!sorter->free_slots && !make_slots(sorter))
			return false;

		uint32_t slot = gmt_event_sorter_take_slot(sorter);

		if (!gmt_events_row_of(sorter->shapes, &rows[i], &sorter->rows.items[slot]))
			return false;
		sorter->window.items[at + i] =
			(struct gmt_stamp_key){ .stamp = rows[i].stamp, .slot = slot };
	}
	return true;
}

/*
 * Moves the events of the run that are later than `lower_stamp` back to the front of the window.
 */
static bool take_back_from(struct gmt_event_sorter *sorter, struct gmt_event_sorter_run *run,
	uint64_t lower_stamp, struct gmt_events_reader *reader)
{
	size_t moved_count =
		sorter->window.count < MAX_WINDOW_EVENTS ? MAX_WINDOW_EVENTS - sorter->window.count : 0;
	size_t at, count, before = sorter->window.count;

	if (moved_count > run->events.count)
		moved_count = run->events.count;
	if (!gmt_vec_reserve(&sorter->window, moved_count))
		return false;
	memmove(sorter->window.items + moved_count, sorter->window.items,
		before * sizeof(*sorter->window.items));
	sorter->window.count += moved_count;
	for (at = moved_count;
		at && (at >= GMT_EVENTS_CHUNK || at == run->events.count) && run->last_stamp > lower_stamp;
		at -= count) {
		count = gmt_events_take_back(&run->events, reader);
		if (!count)
			break;
		if (!return_rows(sorter, at - count, reader->rows, count))
			return false;
		run->last_stamp =
			run->events.count ? gmt_events_at(reader, run->events.count - 1)->stamp : 0;
	}
	memmove(sorter->window.items, sorter->window.items + at,
		(moved_count - at + before) * sizeof(*sorter->window.items));
	sorter->window.count -= at;
	sorter->sorted = 0;
	sorter->min_stamp =
		lower_stamp < sorter->window.items[0].stamp ? lower_stamp : sorter->window.items[0].stamp;
	sorter->is_disordered = true;
	return true;
}

/*
 * If events arrived that belong before events already packed, takes the packed events back, up to a
 * limit. Beyond the limit, a new run begins, and gmt_event_sorter_finish packs all events a second
 * time.
 */
static bool take_back(struct gmt_event_sorter *sorter)
{
	struct gmt_event_sorter_run *last =
		sorter->runs.count ? &sorter->runs.items[sorter->runs.count - 1] : NULL;
	struct gmt_events_reader reader = { 0 };
	uint64_t lower_stamp = min_stamp(sorter);
	bool done;

	if (!last || sorter->is_new_part || last->last_stamp <= lower_stamp)
		return true;
	if (sorter->window_events < MAX_WINDOW_EVENTS)
		sorter->window_events *= 2;
	done = gmt_events_reader_init(&reader, &last->events, GMT_EVENTS_ALL) &&
		take_back_from(sorter, last, lower_stamp, &reader);
	gmt_events_reader_fini(&reader);
	return done;
}

/* Returns the run that can continue with events from `stamp` on. Makes a new run if needed. */
static struct gmt_event_sorter_run *run_for(struct gmt_event_sorter *sorter, uint64_t stamp)
{
	struct gmt_event_sorter_run *last =
		sorter->runs.count ? &sorter->runs.items[sorter->runs.count - 1] : NULL;

	if (last && !sorter->is_new_part && last->last_stamp <= stamp)
		return last;
	last = gmt_vec_push(&sorter->runs);
	if (last) {
		last->is_first_of_part = sorter->is_new_part;
		last->events.shapes = sorter->shapes;
	}
	sorter->is_new_part = false;
	return last;
}

/* Packs the first `count` events of the window, which must be sorted, and frees their slots. */
static bool pack_events(struct gmt_event_sorter *sorter, struct gmt_events *to, size_t count)
{
	const struct gmt_stamp_key *keys = sorter->window.items;
	const struct gmt_events_row *rows[GMT_EVENTS_CHUNK];

	for (size_t done = 0, chunk_count; done < count; done += chunk_count) {
		chunk_count = count - done < GMT_EVENTS_CHUNK ? count - done : GMT_EVENTS_CHUNK;
		for (size_t i = 0; i < chunk_count; i++)
			rows[i] = &sorter->rows.items[keys[done + i].slot];
		if (!gmt_events_push_rows(to, rows, chunk_count))
			return false;
	}
	for (size_t i = 0; i < count; i++)
		sorter->free.items[keys[i].slot / 64] |= UINT64_C(1) << keys[i].slot % 64;
	sorter->free_slots += count;
	return true;
}

/*
 * Sorts the window and packs its first half, or all of it. Does nothing if the window has room
 * again after a take-back.
 */
static bool pack_window(struct gmt_event_sorter *sorter, bool all)
{
	size_t count;

	if (!sorter->window.count)
		return true;
	if (!take_back(sorter))
		return false;
	if (!all && sorter->window.count < sorter->window_events)
		return true;
	count = all ? sorter->window.count : sorter->window.count / 2;
	if (sorter->is_disordered &&
		!gmt_stamp_sort(&sorter->stamp_sorter, sorter->window.items, sorter->window.count))
		return false;

	struct gmt_event_sorter_run *run = run_for(sorter, sorter->window.items[0].stamp);

	if (!run || !pack_events(sorter, &run->events, count))
		return false;
	run->last_stamp = sorter->window.items[count - 1].stamp;
	sorter->window.count -= count;
	memmove(sorter->window.items, sorter->window.items + count,
		sorter->window.count * sizeof(*sorter->window.items));
	sorter->sorted = sorter->window.count;
	sorter->is_disordered = false;
	return true;
}

bool gmt_event_sorter_make_room(struct gmt_event_sorter *sorter)
{
	if (!sorter->window_events)
		sorter->window_events = FIRST_WINDOW_EVENTS;
	if (sorter->window.count >= sorter->window_events && !pack_window(sorter, false))
		return false;
	return sorter->free_slots || make_slots(sorter);
}

bool gmt_event_sorter_end_part(struct gmt_event_sorter *sorter)
{
	bool done = pack_window(sorter, true);

	sorter->is_new_part = true;
	return done;
}

/* A run that is merged, and its next event. */
struct source {
	struct gmt_events_reader reader;
	size_t next, count;
	uint64_t stamp; /* stamp of the next event */
};

/*
 * Merges runs: a heap by the stamp of each run's next event. Equal stamps keep the order of the
 * runs.
 */
struct merger {
	GMT_VEC(struct source) sources;
	GMT_VEC(size_t) heap; /* indices of sources that have more events */
};

static bool comes_before(const struct merger *merger, size_t left, size_t right)
{
	const struct source *a = &merger->sources.items[left], *b = &merger->sources.items[right];

	return a->stamp != b->stamp ? a->stamp < b->stamp : left < right;
}

/* Moves the heap entry at `at` down to its place. */
static void sift_down(struct merger *merger, size_t at)
{
	size_t *heap = merger->heap.items, moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < merger->heap.count; at = child) {
		child +=
			child + 1 < merger->heap.count && comes_before(merger, heap[child + 1], heap[child]);
		if (!comes_before(merger, heap[child], moved))
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static bool open_sources(struct merger *merger, const struct gmt_event_sorter *sorter, size_t first,
	size_t end)
{
	for (size_t run = first; run < end; run++) {
		struct source *source = gmt_vec_push(&merger->sources);
		size_t *entry = gmt_vec_push(&merger->heap);

		if (!source || !entry ||
			!gmt_events_reader_init(&source->reader, &sorter->runs.items[run].events,
				GMT_EVENTS_ALL))
			return false;
		source->count = sorter->runs.items[run].events.count;
		source->stamp = gmt_events_at(&source->reader, 0)->stamp;
		*entry = run - first;
	}
	for (size_t at = merger->heap.count; at-- > 0;)
		sift_down(merger, at);
	return true;
}

static bool merge_sources(struct merger *merger, struct gmt_events *to)
{
	while (merger->heap.count) {
		struct source *source = &merger->sources.items[merger->heap.items[0]];

		if (!gmt_events_push(to, gmt_events_at(&source->reader, source->next)))
			return false;
		if (++source->next < source->count)
			source->stamp = gmt_events_at(&source->reader, source->next)->stamp;
		else
			merger->heap.items[0] = merger->heap.items[--merger->heap.count];
		if (merger->heap.count)
			sift_down(merger, 0);
	}
	return true;
}

/* Merges the runs from `first` to before `end`, which are all of one part. */
static bool merge_runs(const struct gmt_event_sorter *sorter, size_t first, size_t end,
	struct gmt_events *to)
{
	struct merger merger = { 0 };
	bool done = open_sources(&merger, sorter, first, end) && merge_sources(&merger, to);

	for (size_t i = 0; i < merger.sources.count; i++)
		gmt_events_reader_fini(&merger.sources.items[i].reader);
	gmt_vec_fini(&merger.sources);
	gmt_vec_fini(&merger.heap);
	return done;
}

static bool merge_all(const struct gmt_event_sorter *sorter, struct gmt_events *to)
{
	bool done = true;

	for (size_t first = 0, end; done && first < sorter->runs.count; first = end) {
		for (end = first + 1;
			end < sorter->runs.count && !sorter->runs.items[end].is_first_of_part;)
			end++;
		done = merge_runs(sorter, first, end, to);
	}
	return done;
}

bool gmt_event_sorter_finish(struct gmt_event_sorter *sorter, struct gmt_events *ret_events)
{
	ret_events->shapes = sorter->shapes;
	if (!pack_window(sorter, true))
		return false;
	if (sorter->runs.count > 1)
		return merge_all(sorter, ret_events);
	if (sorter->runs.count) {
		*ret_events = sorter->runs.items[0].events;
		sorter->runs.count = 0;
	}
	return true;
}

void gmt_event_sorter_fini(struct gmt_event_sorter *sorter)
{
	for (size_t i = 0; i < sorter->runs.count; i++)
		gmt_events_fini(&sorter->runs.items[i].events);
	gmt_vec_fini(&sorter->runs);
	gmt_vec_fini(&sorter->window);
	gmt_vec_fini(&sorter->rows);
	gmt_vec_fini(&sorter->free);
	gmt_stamp_sorter_fini(&sorter->stamp_sorter);
}

static int by_stamp(const void *left, const void *right)
{
	const struct gmt_recording_mark *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

void gmt_sort_marks(struct gmt_recording *recording)
{
	if (recording->marks.count)
		qsort(recording->marks.items, recording->marks.count, sizeof(*recording->marks.items),
			by_stamp);
}
