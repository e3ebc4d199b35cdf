/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "reader/load/clock.h"
#include "render/page/page_write.h"

enum { MAX_PHASES = 2000 };

struct ranked {
	uint64_t ticks;
	size_t index;
};

static int by_length(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

static void write_phase(const struct gmt_recording *recording, const struct gmt_phase *phase,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "name", phase->name);
	gmt_json_key_u64(json, "begin_ns", gmt_clock_time_ns(recording, phase->begin));
	gmt_json_key_u64(json, "end_ns", gmt_clock_time_ns(recording, phase->end));
	gmt_json_key_u64(json, "thread", phase->thread);
	gmt_json_key_u64(json, "depth", phase->depth);
	gmt_json_key_bool(json, "open", phase->open);
	gmt_json_end_object(json);
}

bool gmt_page_write_phases(const struct gmt_page_view *view, struct gmt_json *json)
{
	const struct gmt_timeline *timeline = view->report->leaks->timeline;
	GMT_VEC(struct ranked) phases = { 0 };
	size_t count = timeline->phases.count, kept = count < MAX_PHASES ? count : MAX_PHASES;

	if (!gmt_vec_reserve(&phases, count))
		return false;
	for (size_t i = 0; i < count; i++)
		*gmt_vec_push(&phases) =
			(struct ranked){ timeline->phases.items[i].end - timeline->phases.items[i].begin, i };
	if (count) {
		qsort(phases.items, count, sizeof(*phases.items), by_length);
		qsort(phases.items, kept, sizeof(*phases.items), by_index);
	}
	gmt_json_key_array(json, "phases");
	for (size_t i = 0; i < kept; i++)
		write_phase(view->report->recording, &timeline->phases.items[phases.items[i].index], json);
	gmt_json_end_array(json);
	gmt_json_key_u64(json, "phases_left_out", count - kept);
	gmt_vec_fini(&phases);
	return true;
}
