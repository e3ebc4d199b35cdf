/* SPDX-License-Identifier: MIT */
#include "model/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

/* What threads had ready at one time; where that was more, there is more room from then on. */
enum { FIRST_WINDOW_EVENTS = 1 << 16, MOST_WINDOW_EVENTS = 1 << 19 };

static bool is_sorted(const struct gmt_order *order)
{
	for (size_t i = order->sorted ? order->sorted : 1; i < order->window.count; i++)
		if (order->window.items[i - 1].stamp > order->window.items[i].stamp)
			return false;
	return true;
}

static bool list_keys(struct gmt_order *order)
{
	size_t count = order->window.count;

	order->keys.count = order->merged.count = order->starts.count = 0;
	if (!gmt_vec_reserve(&order->keys, count) || !gmt_vec_reserve(&order->merged, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t stamp = order->window.items[i].stamp;

		order->keys.items[i] = (struct gmt_order_key){ stamp, (uint32_t)i };
		if (!i || order->keys.items[i - 1].stamp > stamp) {
			uint32_t *start = gmt_vec_push(&order->starts);

			if (!start)
				return false;
			*start = (uint32_t)i;
		}
	}
	uint32_t *end = gmt_vec_push(&order->starts);
	if (end)
		*end = (uint32_t)count;
	return end;
}

/* Which of the two comes next is anybody's guess: no branch asks. */
static void merge(const struct gmt_order_key *left, const struct gmt_order_key *middle, const struct gmt_order_key *end,
	struct gmt_order_key *to)
{
	const struct gmt_order_key *right = middle;

	while (left < middle && right < end) {
		size_t is_right = right->stamp < left->stamp;
		const struct gmt_order_key *next = is_right ? right : left;

		*to++ = *next;
		right += is_right;
		left += 1 - is_right;
	}
	memcpy(to, left, (size_t)(middle - left) * sizeof(*to));
	memcpy(to + (middle - left), right, (size_t)(end - right) * sizeof(*to));
}

/*
 * A file is a sequence of blocks, each of one thread and so in order: a few sorted runs in a window. Merging
 * neighbouring runs, pass by pass, costs what the disorder costs, and is stable.
 */
static bool sort_keys(struct gmt_order *order)
{
	struct gmt_order_key *from, *to;
	uint32_t *starts;
	size_t runs;

	if (!list_keys(order))
		return false;
	from = order->keys.items;
	to = order->merged.items;
	starts = order->starts.items;
	for (runs = order->starts.count - 1; runs > 1; runs = (runs + 1) / 2) {
		uint32_t end = starts[runs];

		for (size_t i = 0; i < runs; i += 2) {
			uint32_t middle = starts[i + 1], last = i + 1 < runs ? starts[i + 2] : middle;

			merge(from + starts[i], from + middle, from + last, to + starts[i]);
			starts[i / 2] = starts[i];
		}
		starts[(runs + 1) / 2] = end;

		struct gmt_order_key *merged = to;
		to = from;
		from = merged;
	}
	if (from != order->keys.items)
		memcpy(order->keys.items, from, order->window.count * sizeof(*from));
	return true;
}

/* The least stamp of the window. */
static uint64_t least_stamp(const struct gmt_order *order)
{
	uint64_t least = order->window.items[0].stamp;

	/* What is in order up to `sorted` has its least one first. */
	for (size_t i = order->sorted ? order->sorted : 1; i < order->window.count; i++)
		if (order->window.items[i].stamp < least)
			least = order->window.items[i].stamp;
	return least;
}

/* Takes events of the run that are later than `least` to the window, in front of all that is there. */
static bool take_back_from(struct gmt_order *order, struct gmt_order_run *run, uint64_t least,
	struct gmt_events_reader *reader)
{
	size_t room = order->window.count < MOST_WINDOW_EVENTS ? MOST_WINDOW_EVENTS - order->window.count : 0;
	size_t at, count, before = order->window.count;

	if (room > run->events.count)
		room = run->events.count;
	if (!gmt_vec_reserve(&order->window, room))
		return false;

	struct gmt_snapshot_event *window = order->window.items;
	memmove(window + room, window, before * sizeof(*window));
	for (at = room; at && (at >= GMT_EVENTS_CHUNK || at == run->events.count) && run->last_stamp > least; at -= count) {
		count = gmt_events_take_back(&run->events, reader);
		if (!count)
			break;
		memcpy(window + at - count, reader->rows, count * sizeof(*window));
		run->last_stamp = run->events.count ? gmt_events_at(reader, run->events.count - 1)->stamp : 0;
	}
	memmove(window, window + at, (room - at + before) * sizeof(*window));
	order->window.count += room - at;
	order->sorted = 0;
	return true;
}

/*
 * Events were given away that others belong in front of: takes them back, where that is not too many. Else a run of its
 * own begins, and all events are packed a second time.
 */
static bool take_back(struct gmt_order *order)
{
	struct gmt_order_run *last = order->runs.count ? &order->runs.items[order->runs.count - 1] : NULL;
	struct gmt_events_reader reader = { 0 };
	uint64_t least = least_stamp(order);
	bool done;

	if (!last || order->is_new_part || last->last_stamp <= least)
		return true;
	if (order->window_events < MOST_WINDOW_EVENTS)
		order->window_events *= 2;
	done = gmt_events_reader_init(&reader, &last->events, GMT_EVENTS_ALL) && take_back_from(order, last, least, &reader);
	gmt_events_reader_fini(&reader);
	return done;
}

/* The run that events from `stamp` on can go on with. */
static struct gmt_order_run *run_for(struct gmt_order *order, uint64_t stamp)
{
	struct gmt_order_run *last = order->runs.count ? &order->runs.items[order->runs.count - 1] : NULL;

	if (last && !order->is_new_part && last->last_stamp <= stamp)
		return last;
	last = gmt_vec_push(&order->runs);
	if (last)
		last->is_first_of_part = order->is_new_part;
	order->is_new_part = false;
	return last;
}

/* Gives `count` events of the window away, in the order of keys; NULL: as they stand. */
static bool give(const struct gmt_order *order, struct gmt_events *to, const struct gmt_order_key *keys, size_t count)
{
	const struct gmt_snapshot_event *window = order->window.items, *rows[GMT_EVENTS_CHUNK];

	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < GMT_EVENTS_CHUNK ? count - done : GMT_EVENTS_CHUNK;
		for (size_t i = 0; i < some; i++)
			rows[i] = &window[keys ? keys[done + i].place : done + i];
		if (!gmt_events_push_rows(to, rows, some))
			return false;
	}
	return true;
}

/* Gives the first `count` events of a window away that is in order. */
static bool emit_sorted(struct gmt_order *order, size_t count)
{
	const struct gmt_snapshot_event *window = order->window.items;
	struct gmt_order_run *run = run_for(order, window[0].stamp);

	if (!run || !give(order, &run->events, NULL, count))
		return false;
	run->last_stamp = window[count - 1].stamp;
	memmove(order->window.items, window + count, (order->window.count - count) * sizeof(*window));
	return true;
}

/* What stays was copied to the spare room, which has as much of it. */
static void swap_window(struct gmt_order *order)
{
	struct gmt_snapshot_event *items = order->window.items;
	size_t capacity = order->window.capacity;

	order->window.items = order->spare.items;
	order->window.capacity = order->spare.capacity;
	order->spare.items = items;
	order->spare.capacity = capacity;
}

/* Likewise of one that is not; what stays is put in order. */
static bool emit_by_keys(struct gmt_order *order, size_t count)
{
	const struct gmt_snapshot_event *window = order->window.items;
	const struct gmt_order_key *keys;
	struct gmt_order_run *run;
	size_t left = order->window.count - count;

	if (!sort_keys(order) || !gmt_vec_reserve(&order->spare, order->window.count))
		return false;
	keys = order->keys.items;
	run = run_for(order, keys[0].stamp);
	if (!run || !give(order, &run->events, keys, count))
		return false;
	run->last_stamp = keys[count - 1].stamp;
	for (size_t i = 0; i < left; i++)
		order->spare.items[i] = window[keys[count + i].place];
	swap_window(order);
	return true;
}

/* Gives the first half of the window away, or all of it, in order; nothing where it has room again. */
static bool emit(struct gmt_order *order, bool all)
{
	size_t count;

	if (!order->window.count)
		return true;
	if (!take_back(order))
		return false;
	if (!all && order->window.count < order->window_events)
		return true;
	count = all ? order->window.count : order->window.count / 2;
	if (!(is_sorted(order) ? emit_sorted(order, count) : emit_by_keys(order, count)))
		return false;
	order->window.count -= count;
	order->sorted = order->window.count;
	return true;
}

bool gmt_order_make_room(struct gmt_order *order)
{
	if (!order->window_events)
		order->window_events = FIRST_WINDOW_EVENTS;
	if (order->window.count >= order->window_events && !emit(order, false))
		return false;
	return gmt_vec_reserve(&order->window, 1);
}

bool gmt_order_part(struct gmt_order *order)
{
	bool done = emit(order, true);

	order->is_new_part = true;
	return done;
}

/* A run that is merged, and how far. */
struct source {
	struct gmt_events_reader reader;
	size_t place, count;
	uint64_t stamp; /* of the event there */
};

/* Runs that are merged, as a heap by the stamp of their next event; equal stamps stand in the order of their runs. */
struct merger {
	GMT_VEC(struct source) sources;
	GMT_VEC(size_t) heap; /* indices of sources that have more */
};

static bool comes_before(const struct merger *merger, size_t left, size_t right)
{
	const struct source *a = &merger->sources.items[left], *b = &merger->sources.items[right];

	return a->stamp != b->stamp ? a->stamp < b->stamp : left < right;
}

/* Lets what stands at `at` sink to its place. */
static void sink(struct merger *merger, size_t at)
{
	size_t *heap = merger->heap.items, moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < merger->heap.count; at = child) {
		child += child + 1 < merger->heap.count && comes_before(merger, heap[child + 1], heap[child]);
		if (!comes_before(merger, heap[child], moved))
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static bool open_sources(struct merger *merger, const struct gmt_order *order, size_t first, size_t end)
{
	for (size_t run = first; run < end; run++) {
		struct source *source = gmt_vec_push(&merger->sources);
		size_t *slot = gmt_vec_push(&merger->heap);

		if (!source || !slot ||
			!gmt_events_reader_init(&source->reader, &order->runs.items[run].events, GMT_EVENTS_ALL))
			return false;
		source->count = order->runs.items[run].events.count;
		source->stamp = gmt_events_at(&source->reader, 0)->stamp;
		*slot = run - first;
	}
	for (size_t at = merger->heap.count; at-- > 0;)
		sink(merger, at);
	return true;
}

static bool merge_sources(struct merger *merger, struct gmt_events *to)
{
	while (merger->heap.count) {
		struct source *source = &merger->sources.items[merger->heap.items[0]];

		if (!gmt_events_push(to, gmt_events_at(&source->reader, source->place)))
			return false;
		if (++source->place < source->count)
			source->stamp = gmt_events_at(&source->reader, source->place)->stamp;
		else
			merger->heap.items[0] = merger->heap.items[--merger->heap.count];
		if (merger->heap.count)
			sink(merger, 0);
	}
	return true;
}

/* Runs first to end are of one part. */
static bool merge_runs(const struct gmt_order *order, size_t first, size_t end, struct gmt_events *to)
{
	struct merger merger = { 0 };
	bool done = open_sources(&merger, order, first, end) && merge_sources(&merger, to);

	for (size_t i = 0; i < merger.sources.count; i++)
		gmt_events_reader_fini(&merger.sources.items[i].reader);
	gmt_vec_fini(&merger.sources);
	gmt_vec_fini(&merger.heap);
	return done;
}

static bool merge_all(const struct gmt_order *order, struct gmt_events *to)
{
	bool done = true;

	for (size_t first = 0, end; done && first < order->runs.count; first = end) {
		for (end = first + 1; end < order->runs.count && !order->runs.items[end].is_first_of_part;)
			end++;
		done = merge_runs(order, first, end, to);
	}
	return done;
}

bool gmt_order_finish(struct gmt_order *order, struct gmt_events *ret_events)
{
	if (!emit(order, true))
		return false;
	if (order->runs.count > 1)
		return merge_all(order, ret_events);
	if (order->runs.count) {
		*ret_events = order->runs.items[0].events;
		order->runs.count = 0;
	}
	return true;
}

void gmt_order_fini(struct gmt_order *order)
{
	for (size_t i = 0; i < order->runs.count; i++)
		gmt_events_fini(&order->runs.items[i].events);
	gmt_vec_fini(&order->runs);
	gmt_vec_fini(&order->window);
	gmt_vec_fini(&order->spare);
	gmt_vec_fini(&order->keys);
	gmt_vec_fini(&order->merged);
	gmt_vec_fini(&order->starts);
}

static int by_stamp(const void *left, const void *right)
{
	const struct gmt_snapshot_mark *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

void gmt_order_marks(struct gmt_snapshot *snapshot)
{
	if (snapshot->marks.count)
		qsort(snapshot->marks.items, snapshot->marks.count, sizeof(*snapshot->marks.items), by_stamp);
}
