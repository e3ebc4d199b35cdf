/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_clock.h"

#include "containers/bisect.h"
#include "reader/load/clock.h"
#include "reader/replay/replay.h"

/* The part of the recording that is divided. */
struct range {
	uint64_t begin_ns, end_ns;
	uint64_t begin_event, end_event;
	uint64_t begin_stamp, end_stamp;
};

/*
 * Returns the first stamp in [low, high] whose time is at least `time_ns`; high + 1: there is none.
 */
static uint64_t stamp_of(const struct gmt_recording *recording, uint64_t low, uint64_t high,
	uint64_t time_ns)
{
	return low + GMT_BISECT(at, high + 1 - low, gmt_clock_time_ns(recording, low + at) < time_ns);
}

static bool push(struct gmt_page_clock *clock, uint64_t begin_ns, uint64_t begin_stamp,
	uint64_t begin_event)
{
	struct gmt_page_interval *interval = gmt_vec_push(&clock->intervals);

	if (interval)
		*interval = (struct gmt_page_interval){ begin_ns, begin_stamp, begin_event };
	return interval;
}

/* Returns begin + (end - begin) * part / GMT_PAGE_PARTS. */
static uint64_t part_of(uint64_t begin, uint64_t end, unsigned part)
{
	return begin + (uint64_t)((unsigned __int128)(end - begin) * part / GMT_PAGE_PARTS);
}

/* Adds the beginnings of all intervals except the first, in order. */
static bool divide(struct gmt_page_clock *clock, const struct gmt_recording *recording,
	const struct range *range)
{
	uint64_t last_ns = range->begin_ns, begin_stamp = range->begin_stamp;
	unsigned time_part = 1, event_part = 1;

	while (time_part < GMT_PAGE_PARTS || event_part < GMT_PAGE_PARTS) {
		uint64_t by_time_ns = part_of(range->begin_ns, range->end_ns, time_part),
				 by_event_ns = UINT64_MAX, begin_ns;

		if (event_part < GMT_PAGE_PARTS && range->end_event > range->begin_event) {
			uint64_t event = part_of(range->begin_event, range->end_event, event_part);

			by_event_ns =
				gmt_clock_time_ns(recording, gmt_recording_event(recording, (size_t)event).stamp);
		}
		if (time_part == GMT_PAGE_PARTS)
			by_time_ns = UINT64_MAX;
		begin_ns = by_time_ns < by_event_ns ? by_time_ns : by_event_ns;
		time_part += by_time_ns == begin_ns && time_part < GMT_PAGE_PARTS;
		event_part +=
			(by_event_ns == begin_ns || by_event_ns == UINT64_MAX) && event_part < GMT_PAGE_PARTS;
		if (begin_ns <= last_ns || begin_ns > range->end_ns)
			continue;
		begin_stamp = stamp_of(recording, begin_stamp, range->end_stamp, begin_ns);
		last_ns = begin_ns;
		if (!push(clock, begin_ns, begin_stamp, range->end_event))
			return false;
		if (begin_stamp > range->end_stamp)
			break;
	}
	return true;
}

static void set_next_needed_stamp(struct gmt_page_clock *clock)
{
	clock->next_needed_stamp = clock->current + 1 < clock->intervals.count
		? clock->intervals.items[clock->current + 1].begin_stamp - 1
		: UINT64_MAX;
}

/* Returns the part of the recording whose events are replayed. */
static struct range replayed_range(const struct gmt_recording *recording, uint64_t until_ns)
{
	/* No stamp is larger, so that the stamp after it exists. */
	const uint64_t max_stamp = UINT64_MAX - 2;
	struct range range = {
		.end_event = gmt_replay_count(recording, until_ns),
		.end_ns = until_ns == GMT_REPLAY_TO_END ? gmt_recording_duration_ns(recording) : until_ns,
		.end_stamp = recording->last_stamp,
	};

	if (range.end_event) {
		uint64_t last = gmt_recording_event(recording, (size_t)range.end_event - 1).stamp;

		range.begin_stamp = gmt_recording_event(recording, 0).stamp;
		range.end_stamp = last > range.end_stamp ? last : range.end_stamp;
	}
	range.end_stamp = range.end_stamp < max_stamp ? range.end_stamp : max_stamp;
	if (range.begin_stamp > range.end_stamp)
		range.begin_stamp = range.end_stamp;
	return range;
}

/* Makes the compacted prefix the first interval. Returns false when out of memory. */
static bool add_prefix(struct gmt_page_clock *clock, const struct gmt_recording *recording,
	struct range *range)
{
	uint64_t fold_ns = gmt_clock_time_ns(recording, recording->compacted.cut_stamp);

	clock->has_prefix = recording->compacted.exists &&
		(range->end_event > recording->compacted_events || range->end_ns >= fold_ns);
	if (!clock->has_prefix)
		return true;
	range->begin_ns = fold_ns + 1;
	range->begin_event = recording->compacted_events < range->end_event
		? recording->compacted_events
		: range->end_event;
	range->begin_stamp = recording->compacted.cut_stamp < range->end_stamp
		? recording->compacted.cut_stamp
		: range->end_stamp;
	if (range->begin_ns >= range->end_ns)
		return true;
	return push(clock, range->begin_ns,
		stamp_of(recording, range->begin_stamp, range->end_stamp, range->begin_ns),
		range->end_event);
}

bool gmt_page_clock_init(struct gmt_page_clock *ret_clock, const struct gmt_recording *recording,
	uint64_t until_ns)
{
	struct range range = replayed_range(recording, until_ns);

	ret_clock->end_stamp = range.end_stamp;
	ret_clock->end_ns = range.end_ns;
	if (!push(ret_clock, 0, 0, 0) || !add_prefix(ret_clock, recording, &range) ||
		(range.begin_ns < range.end_ns && !divide(ret_clock, recording, &range)))
		return false;
	set_next_needed_stamp(ret_clock);
	return true;
}

void gmt_page_clock_reach(struct gmt_page_clock *clock, uint64_t stamp, uint64_t index)
{
	while (clock->current + 1 < clock->intervals.count &&
		stamp >= clock->intervals.items[clock->current + 1].begin_stamp)
		clock->intervals.items[++clock->current].begin_event = index;
	set_next_needed_stamp(clock);
}

void gmt_page_clock_halve_intervals(struct gmt_page_clock *clock)
{
	size_t kept = clock->current + 1;

	for (size_t i = kept + 1; i < clock->intervals.count; i += 2)
		clock->intervals.items[kept++] = clock->intervals.items[i];
	clock->intervals.count = kept;
	set_next_needed_stamp(clock);
}

uint64_t gmt_page_clock_end(const struct gmt_page_clock *clock, size_t index)
{
	return index + 1 < clock->intervals.count ? clock->intervals.items[index + 1].begin_stamp
											  : clock->end_stamp + 1;
}

void gmt_page_clock_fini(struct gmt_page_clock *clock)
{
	gmt_vec_fini(&clock->intervals);
}

static void set_next_needed_stamp_of_bounds(struct gmt_page_bounds *bounds)
{
	bounds->next_needed_stamp =
		bounds->next < bounds->stamps.count ? bounds->stamps.items[bounds->next] - 1 : UINT64_MAX;
}

bool gmt_page_bounds_init(struct gmt_page_bounds *ret_bounds, const struct gmt_page_clock *clock)
{
	if (!gmt_vec_reserve(&ret_bounds->stamps, clock->intervals.count))
		return false;
	for (size_t i = 1; i < clock->intervals.count; i++)
		ret_bounds->stamps.items[ret_bounds->stamps.count++] =
			clock->intervals.items[i].begin_stamp;
	set_next_needed_stamp_of_bounds(ret_bounds);
	return true;
}

void gmt_page_bounds_reach(struct gmt_page_bounds *bounds, uint64_t stamp)
{
	while (bounds->next < bounds->stamps.count && stamp >= bounds->stamps.items[bounds->next])
		bounds->next++;
	set_next_needed_stamp_of_bounds(bounds);
}

void gmt_page_bounds_fini(struct gmt_page_bounds *bounds)
{
	gmt_vec_fini(&bounds->stamps);
}
