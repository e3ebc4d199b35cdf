/* SPDX-License-Identifier: MIT */
#include "model/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

/*
 * A file is a sequence of blocks, each of one thread and so in order: a few thousand sorted runs.
 * Merging neighbouring runs, pass by pass, costs what the disorder costs, and is stable.
 */

struct sorter {
	const struct gmt_snapshot_event *events;
	uint32_t count;
	uint32_t *from;
	uint32_t *to;
};

static uint64_t stamp_of(const struct sorter *sorter, uint32_t position)
{
	return sorter->events[sorter->from[position]].stamp;
}

/* Behind the run that begins at `start`. */
static uint32_t run_end(const struct sorter *sorter, uint32_t start)
{
	uint32_t at = start + 1;

	while (at < sorter->count && stamp_of(sorter, at - 1) <= stamp_of(sorter, at))
		at++;
	return at;
}

static void merge(struct sorter *sorter, uint32_t start, uint32_t middle, uint32_t end)
{
	uint32_t left = start, right = middle;

	for (uint32_t out = start; out < end; out++) {
		bool take_left = left < middle &&
			(right >= end || stamp_of(sorter, left) <= stamp_of(sorter, right));

		sorter->to[out] = sorter->from[take_left ? left++ : right++];
	}
}

/* Merges pairs of runs; the number of runs that it found. */
static uint32_t merge_pass(struct sorter *sorter)
{
	uint32_t runs = 0;

	for (uint32_t start = 0; start < sorter->count;) {
		uint32_t middle = run_end(sorter, start);
		uint32_t end = middle < sorter->count ? run_end(sorter, middle) : middle;

		merge(sorter, start, middle, end);
		runs += middle < end ? 2 : 1;
		start = end;
	}
	return runs;
}

static bool is_sorted(const struct gmt_snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->events.count; i++)
		if (i != snapshot->past_events &&
			snapshot->events.items[i - 1].stamp > snapshot->events.items[i].stamp)
			return false;
	return true;
}

/* Sorts [first, end) of from, with to as room; the result is in from. */
static void sort(struct sorter *sorter, uint32_t first, uint32_t end)
{
	struct sorter part = {
		.events = sorter->events, .count = end - first, .from = sorter->from + first, .to = sorter->to + first,
	};

	for (uint32_t runs = 2; runs > 1;) {
		runs = merge_pass(&part);

		uint32_t *merged = part.to;
		part.to = part.from;
		part.from = merged;
	}
	if (part.from != sorter->from + first && part.count)
		memcpy(part.to, part.from, part.count * sizeof(*part.to));
}

/* What survived a fold comes before all that is behind it in the file, whatever late stamps say. */
bool gmt_order_events(struct gmt_snapshot *snapshot)
{
	size_t bytes = snapshot->events.count * sizeof(uint32_t);
	struct sorter sorter = {
		.events = snapshot->events.items, .count = (uint32_t)snapshot->events.count,
	};

	if (is_sorted(snapshot))
		return true;

	sorter.from = gmt_pages_grow(NULL, 0, bytes);
	sorter.to = gmt_pages_grow(NULL, 0, bytes);
	if (!sorter.from || !sorter.to) {
		gmt_pages_free(sorter.from, bytes);
		gmt_pages_free(sorter.to, bytes);
		return false;
	}
	for (uint32_t i = 0; i < sorter.count; i++)
		sorter.from[i] = i;
	sort(&sorter, 0, (uint32_t)snapshot->past_events);
	sort(&sorter, (uint32_t)snapshot->past_events, sorter.count);
	snapshot->order = sorter.from;
	gmt_pages_free(sorter.to, bytes);
	return true;
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
