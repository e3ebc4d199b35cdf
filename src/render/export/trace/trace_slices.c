/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/text.h"
#include "reader/load/clock.h"
#include "render/export/trace/trace.h"

/*
 * Phases of one thread and source nest, but ranges that a program numbers itself may overlap. Of
 * two ranges that overlap, the later one is written to the next lane. Each lane is a track.
 */
enum { LANES = 16 };

/* The ends of the open slices of a lane, the outermost first. */
struct lane {
	GMT_VEC(uint64_t) ends_ns;
	uint32_t track_plus_1; /* 0: it has no track yet */
};

struct phases {
	struct gmt_trace *trace;
	struct lane lanes[LANES];
	uint32_t next_track;
	uint64_t left_out;
};

/* Gets the times of a slice, cut at the end of the export. Returns false if it begins later. */
static bool get_span(const struct gmt_trace *trace, uint64_t begin, uint64_t end,
	struct gmt_trace_span *ret_span)
{
	ret_span->begin_ns = gmt_clock_time_ns(trace->export->recording, begin);
	ret_span->end_ns = gmt_clock_time_ns(trace->export->recording, end);
	if (ret_span->end_ns > trace->end_ns)
		ret_span->end_ns = trace->end_ns;
	return ret_span->begin_ns <= ret_span->end_ns;
}

static void write_steps(struct gmt_trace *trace, const struct gmt_step_series *series,
	uint32_t track)
{
	char name[80];

	snprintf(name, sizeof(name), "steps (%s)", gmt_step_source_name(series->source));
	trace->form->name_track(trace, name, track);
	for (size_t i = 0; i < series->steps.count && !gmt_budget_has_cut_output(); i++) {
		struct gmt_trace_span span;

		snprintf(name, sizeof(name), "step %zu", i);
		if (get_span(trace, series->steps.items[i].begin, series->steps.items[i].end, &span))
			trace->form->slice(trace, name, span, track);
	}
}

/* Returns whether the slice nests in the lane. Ends the lane's slices that are over. */
static bool fits(struct lane *lane, struct gmt_trace_span span)
{
	size_t count = lane->ends_ns.count;

	while (count && lane->ends_ns.items[count - 1] <= span.begin_ns)
		count--;
	lane->ends_ns.count = count;
	return !count || span.end_ns <= lane->ends_ns.items[count - 1];
}

static void name_lane(struct phases *phases, struct lane *lane, const struct gmt_phase *phase)
{
	char name[64];

	lane->track_plus_1 = ++phases->next_track;
	snprintf(name, sizeof(name), "phases, thread %" PRIu32, phase->thread);
	phases->trace->form->name_track(phases->trace, name, lane->track_plus_1 - 1);
}

static bool write_phase(struct phases *phases, const struct gmt_phase *phase)
{
	struct gmt_trace_span span;
	struct lane *lane = phases->lanes;
	uint64_t *end_ns;

	if (!get_span(phases->trace, phase->begin, phase->end, &span))
		return true;
	while (lane < phases->lanes + LANES && !fits(lane, span))
		lane++;
	if (lane == phases->lanes + LANES) {
		phases->left_out++;
		return true;
	}
	if (!lane->track_plus_1)
		name_lane(phases, lane, phase);
	if (!(end_ns = gmt_vec_push(&lane->ends_ns)))
		return false;
	*end_ns = span.end_ns;
	phases->trace->form->slice(phases->trace, phase->name, span, lane->track_plus_1 - 1);
	return true;
}

/* By thread and source, then in order of time, with the longer one first: it contains the other. */
static int compare(const void *left, const void *right)
{
	const struct gmt_phase *a = *(const struct gmt_phase *const *)left;
	const struct gmt_phase *b = *(const struct gmt_phase *const *)right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a > b) - (a < b);
}

/* Writes phases in the order of `compare`. */
static bool write_in_order(struct phases *phases, const struct gmt_phase *const *sorted,
	size_t count)
{
	bool done = true;

	for (size_t i = 0; i < count && done && !gmt_budget_has_cut_output(); i++) {
		if (i &&
			(sorted[i]->thread != sorted[i - 1]->thread ||
				sorted[i]->source != sorted[i - 1]->source))
			for (size_t lane = 0; lane < LANES; lane++) {
				phases->lanes[lane].ends_ns.count = 0;
				phases->lanes[lane].track_plus_1 = 0;
			}
		done = write_phase(phases, sorted[i]);
	}
	return done;
}

static bool write_phases(struct gmt_trace *trace, uint32_t first_track)
{
	const struct gmt_timeline *timeline = trace->export->timeline;
	struct phases phases = { .trace = trace, .next_track = first_track };
	size_t count = timeline->phases.count;
	const struct gmt_phase **sorted = calloc(count + 1, sizeof(*sorted));
	bool done;

	if (!sorted)
		return false;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &timeline->phases.items[i];
	qsort(sorted, count, sizeof(*sorted), compare);
	done = write_in_order(&phases, sorted, count);
	if (phases.left_out)
		snprintf(trace->export->left_out, sizeof(trace->export->left_out),
			"%s phases are not included, because too many overlap",
			gmt_text_count(phases.left_out).text);
	for (size_t lane = 0; lane < LANES; lane++)
		gmt_vec_fini(&phases.lanes[lane].ends_ns);
	free(sorted);
	return done;
}

bool gmt_trace_slices(struct gmt_trace *trace)
{
	const struct gmt_timeline *timeline = trace->export->timeline;
	uint32_t track = 0;

	for (size_t i = 0; i < timeline->series_count; i++)
		write_steps(trace, &timeline->series[i], track++);
	return write_phases(trace, track);
}
