/* SPDX-License-Identifier: MIT */
#include "writer/rotation_cuts.h"

#include "producer/clock.h"
#include "writer/stream_steps.h"

enum {
	CUTS_OF_WINDOW = 4,
	LATE_PARTS = 8,
	COMPACTION_EVENTS = 32768,          /* minimum number of events for a compaction */
	AGGREGATE_EVENTS = 262144,    /* events that mode=aggregate collects before a compaction */
	SLACK_NS = 500000000, /* maximum time from a call's stamp to the event's publication */
};

/* Maximum delay between a free and its event's publication. Later the free counts as missed. */
#define LATE_NS 1e10

bool gmt_rotation_has_max_size(const struct gmt_rotation *rotate)
{
	return rotate->max_size_bytes != UINT64_MAX;
}

struct gmt_rotation_cut gmt_rotation_now(const struct gmt_rotation *rotate, uint64_t stamp)
{
	return (struct gmt_rotation_cut){
		.bytes = gmt_sink_written_bytes(rotate->stream->sink),
		.events = rotate->stream->events,
		.steps = gmt_stream_steps(rotate->stream),
		.stamp = stamp,
		.time_ns = gmt_clock_monotonic_ns(),
	};
}

/* Returns the distance from `from` to `to`, in the window's unit. */
static uint64_t distance(const struct gmt_rotation *rotate, const struct gmt_rotation_cut *from,
	const struct gmt_rotation_cut *to)
{
	switch (rotate->window.unit) {
	case GMT_WINDOW_SECONDS:
		return (to->time_ns - from->time_ns) / 1000000000;
	case GMT_WINDOW_STEPS:
		return to->steps - from->steps;
	default:
		return to->events - from->events;
	}
}

const struct gmt_rotation_cut *gmt_rotation_last_cut(const struct gmt_rotation *rotate)
{
	return rotate->cut_count ? &rotate->cuts[rotate->cut_count - 1] : &rotate->start;
}

bool gmt_rotation_is_cut_due(const struct gmt_rotation *rotate, const struct gmt_rotation_cut *now)
{
	const struct gmt_rotation_cut *last = gmt_rotation_last_cut(rotate);

	if (rotate->cut_count == GMT_ROTATION_CUTS)
		return false;
	if (gmt_rotation_has_max_size(rotate) &&
		now->bytes - last->bytes >= rotate->max_size_bytes / GMT_ROTATION_CUTS_OF_FILE)
		return true;
	if (rotate->mode == GMT_MODE_AGGREGATE)
		return now->events - last->events >= AGGREGATE_EVENTS / CUTS_OF_WINDOW;
	if (rotate->mode == GMT_MODE_FULL || rotate->fits_only)
		return false;

	uint64_t part = rotate->window.count / CUTS_OF_WINDOW;

	return distance(rotate, last, now) >= (part ? part : 1) &&
		now->events - last->events >= COMPACTION_EVENTS / CUTS_OF_WINDOW;
}

uint32_t gmt_rotation_cut_for_window(const struct gmt_rotation *rotate,
	const struct gmt_rotation_cut *now)
{
	uint64_t keep = rotate->mode == GMT_MODE_AGGREGATE ? 0 : rotate->window.count;

	if (rotate->mode != GMT_MODE_FULL && !rotate->fits_only)
		for (uint32_t i = rotate->cut_count; i-- > 0;)
			if (rotate->mode == GMT_MODE_AGGREGATE ||
				distance(rotate, &rotate->cuts[i], now) >= keep)
				return i;
	return rotate->cut_count;
}

bool gmt_rotation_is_worth_it(const struct gmt_rotation *rotate, uint32_t cut)
{
	const struct gmt_rotation_cut *place = &rotate->cuts[cut];
	uint64_t least = rotate->mode == GMT_MODE_AGGREGATE ? AGGREGATE_EVENTS : COMPACTION_EVENTS;

	if (place->events - rotate->start.events < least ||
		place->bytes - rotate->start.bytes < rotate->start.bytes)
		return false;
	return rotate->mode == GMT_MODE_AGGREGATE ||
		distance(rotate, &rotate->start, place) >= rotate->window.count;
}

bool gmt_rotation_is_too_large(const struct gmt_rotation *rotate,
	const struct gmt_rotation_cut *now)
{
	return gmt_rotation_has_max_size(rotate) &&
		(now->bytes > rotate->max_size_bytes / 2 || rotate->stream->is_full);
}

uint32_t gmt_rotation_cut_for_size(const struct gmt_rotation *rotate,
	const struct gmt_rotation_cut *now)
{
	uint32_t i = 0;

	if (rotate->is_tight && rotate->cut_count)
		return rotate->cut_count - 1;
	while (i < rotate->cut_count &&
		now->bytes - rotate->cuts[i].bytes > rotate->max_size_bytes / GMT_ROTATION_KEPT_PARTS)
		i++;
	return i;
}

/*
 * Returns the stamp `slack_ns` before the cut. If more than max_size / `parts` was written in that
 * time, the function uses the shorter time in which that much was written.
 */
static uint64_t stamp_before(const struct gmt_rotation *rotate, uint32_t cut, double slack_ns,
	unsigned parts)
{
	const struct gmt_rotation_cut *at = &rotate->cuts[cut], *before = cut ? at - 1 : &rotate->start;
	double ticks = (double)(at->stamp - gmt_clock_start.stamp);
	double time_ns = (double)(at->time_ns - gmt_clock_start.monotonic_ns);
	double bytes_per_ns =
		(double)(at->bytes - before->bytes) / (double)(at->time_ns - before->time_ns + 1);

	if (gmt_rotation_has_max_size(rotate) &&
		slack_ns * bytes_per_ns > (double)(rotate->max_size_bytes / parts))
		slack_ns = (double)(rotate->max_size_bytes / parts) / bytes_per_ns;
	return time_ns <= slack_ns ? gmt_clock_start.stamp
							   : at->stamp - (uint64_t)(ticks / time_ns * slack_ns);
}

uint64_t gmt_rotation_settled_stamp(const struct gmt_rotation *rotate, uint32_t cut)
{
	return stamp_before(rotate, cut, SLACK_NS, GMT_ROTATION_SLACK_PARTS);
}

uint64_t gmt_rotation_published_until(const struct gmt_rotation *rotate, uint32_t cut)
{
	return rotate->is_tight ? 0 : stamp_before(rotate, cut, LATE_NS, LATE_PARTS);
}
