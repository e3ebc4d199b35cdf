/* SPDX-License-Identifier: MIT */
#include "writer/file_compaction_cuts.h"

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

bool gmt_file_compaction_has_max_size(const struct gmt_file_compaction *compaction)
{
	return compaction->max_size_bytes != UINT64_MAX;
}

struct gmt_file_compaction_cut gmt_file_compaction_now(const struct gmt_file_compaction *compaction,
	uint64_t stamp)
{
	return (struct gmt_file_compaction_cut){
		.bytes = gmt_sink_written_bytes(compaction->stream->sink),
		.events = compaction->stream->events,
		.steps = gmt_stream_steps(compaction->stream),
		.stamp = stamp,
		.time_ns = gmt_clock_monotonic_ns(),
	};
}

/* Returns the distance from `from` to `to`, in the window's unit. */
static uint64_t distance(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *from, const struct gmt_file_compaction_cut *to)
{
	switch (compaction->window.unit) {
	case GMT_WINDOW_SECONDS:
		return (to->time_ns - from->time_ns) / 1000000000;
	case GMT_WINDOW_STEPS:
		return to->steps - from->steps;
	default:
		return to->events - from->events;
	}
}

const struct gmt_file_compaction_cut *gmt_file_compaction_last_cut(
	const struct gmt_file_compaction *compaction)
{
	return compaction->cut_count ? &compaction->cuts[compaction->cut_count - 1]
								 : &compaction->start;
}

bool gmt_file_compaction_is_cut_due(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	const struct gmt_file_compaction_cut *last = gmt_file_compaction_last_cut(compaction);

	if (compaction->cut_count == GMT_FILE_COMPACTION_CUTS)
		return false;
	if (gmt_file_compaction_has_max_size(compaction) &&
		now->bytes - last->bytes >= compaction->max_size_bytes / GMT_FILE_COMPACTION_CUTS_OF_FILE)
		return true;
	if (compaction->mode == GMT_MODE_AGGREGATE)
		return now->events - last->events >= AGGREGATE_EVENTS / CUTS_OF_WINDOW;
	if (compaction->mode == GMT_MODE_FULL || compaction->is_size_window)
		return false;

	uint64_t part = compaction->window.count / CUTS_OF_WINDOW;

	return distance(compaction, last, now) >= (part ? part : 1) &&
		now->events - last->events >= COMPACTION_EVENTS / CUTS_OF_WINDOW;
}

uint32_t gmt_file_compaction_cut_for_window(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	uint64_t keep = compaction->mode == GMT_MODE_AGGREGATE ? 0 : compaction->window.count;

	if (compaction->mode != GMT_MODE_FULL && !compaction->is_size_window)
		for (uint32_t i = compaction->cut_count; i-- > 0;)
			if (compaction->mode == GMT_MODE_AGGREGATE ||
				distance(compaction, &compaction->cuts[i], now) >= keep)
				return i;
	return compaction->cut_count;
}

bool gmt_file_compaction_is_worth_it(const struct gmt_file_compaction *compaction, uint32_t cut)
{
	const struct gmt_file_compaction_cut *cut_point = &compaction->cuts[cut];
	uint64_t least = compaction->mode == GMT_MODE_AGGREGATE ? AGGREGATE_EVENTS : COMPACTION_EVENTS;

	if (cut_point->events - compaction->start.events < least ||
		cut_point->bytes - compaction->start.bytes < compaction->start.bytes)
		return false;
	return compaction->mode == GMT_MODE_AGGREGATE ||
		distance(compaction, &compaction->start, cut_point) >= compaction->window.count;
}

bool gmt_file_compaction_is_too_large(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	return gmt_file_compaction_has_max_size(compaction) &&
		(now->bytes > compaction->max_size_bytes / 2 || compaction->stream->is_full);
}

uint32_t gmt_file_compaction_cut_for_size(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	uint32_t i = 0;

	if (compaction->is_tight && compaction->cut_count)
		return compaction->cut_count - 1;
	while (i < compaction->cut_count &&
		now->bytes - compaction->cuts[i].bytes >
			compaction->max_size_bytes / GMT_FILE_COMPACTION_KEPT_PARTS)
		i++;
	return i;
}

/*
 * Returns the stamp `slack_ns` before the cut. If more than max_size / `parts` was written in that
 * time, the function uses the shorter time in which that much was written.
 */
static uint64_t stamp_before(const struct gmt_file_compaction *compaction, uint32_t cut,
	double slack_ns, unsigned parts)
{
	const struct gmt_file_compaction_cut *at = &compaction->cuts[cut],
										 *before = cut ? at - 1 : &compaction->start;
	double ticks = (double)(at->stamp - gmt_clock_start.stamp);
	double time_ns = (double)(at->time_ns - gmt_clock_start.monotonic_ns);
	double bytes_per_ns =
		(double)(at->bytes - before->bytes) / (double)(at->time_ns - before->time_ns + 1);

	if (gmt_file_compaction_has_max_size(compaction) &&
		slack_ns * bytes_per_ns > (double)(compaction->max_size_bytes / parts))
		slack_ns = (double)(compaction->max_size_bytes / parts) / bytes_per_ns;
	return time_ns <= slack_ns ? gmt_clock_start.stamp
							   : at->stamp - (uint64_t)(ticks / time_ns * slack_ns);
}

uint64_t gmt_file_compaction_settled_stamp(const struct gmt_file_compaction *compaction,
	uint32_t cut)
{
	return stamp_before(compaction, cut, SLACK_NS, GMT_FILE_COMPACTION_SLACK_PARTS);
}

uint64_t gmt_file_compaction_published_until(const struct gmt_file_compaction *compaction,
	uint32_t cut)
{
	return compaction->is_tight ? 0 : stamp_before(compaction, cut, LATE_NS, LATE_PARTS);
}
