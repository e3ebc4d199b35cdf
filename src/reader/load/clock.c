/* SPDX-License-Identifier: MIT */
#include "reader/load/clock.h"

#include <stddef.h>

/* The fields that serve as x and y of a clock record. One segment search serves both directions. */
struct axes {
	size_t x; /* offset of the field in struct gmt_recording_clock */
	size_t y;
};

static uint64_t coordinate(const struct gmt_recording_clock *clock, size_t offset)
{
	return *(const uint64_t *)((const char *)clock + offset);
}

void gmt_clock_prepare(struct gmt_recording *recording)
{
	struct gmt_recording_clock *clocks = recording->clocks.items;
	size_t kept = 0;

	for (size_t i = 0; i < recording->clocks.count; i++)
		if (!kept ||
			(clocks[i].stamp > clocks[kept - 1].stamp &&
				clocks[i].monotonic_ns >= clocks[kept - 1].monotonic_ns))
			clocks[kept++] = clocks[i];
	recording->clocks.count = kept;
}

/* Returns y at `x` on the line through two points, rounded down and limited to 2^62. */
static int64_t on_line(const struct gmt_recording_clock *from, const struct gmt_recording_clock *to,
	struct axes axes, uint64_t x)
{
	__int128 run = (__int128)coordinate(to, axes.x) - coordinate(from, axes.x);
	__int128 rise = (__int128)coordinate(to, axes.y) - coordinate(from, axes.y);
	__int128 distance = (__int128)x - coordinate(from, axes.x);
	/* With this limit, the product of two differences fits in 128 bits, whatever the file holds. */
	const __int128 limit = (__int128)1 << 62;
	__int128 y;

	if (run <= 0)
		return (int64_t)coordinate(from, axes.y);
	if (distance > limit)
		distance = limit;
	if (distance < -limit)
		distance = -limit;
	y = distance * rise;
	y = y >= 0 ? y / run : -((-y + run - 1) / run);
	y += coordinate(from, axes.y);
	return y > limit ? (int64_t)limit : y < -limit ? -(int64_t)limit : (int64_t)y;
}

static int64_t interpolate(const struct gmt_recording *recording, struct axes axes, uint64_t x)
{
	const struct gmt_recording_clock *clocks = recording->clocks.items;
	size_t low = 0, high = recording->clocks.count - 1;

	/* Outside of all records, use the average rate: the last segment may be very short. */
	if (x < coordinate(&clocks[low], axes.x) || x >= coordinate(&clocks[high], axes.x)) {
		struct gmt_recording_clock from = clocks[x < coordinate(&clocks[low], axes.x) ? low : high];
		struct gmt_recording_clock to = from;

		to.stamp += clocks[high].stamp - clocks[low].stamp;
		to.monotonic_ns += clocks[high].monotonic_ns - clocks[low].monotonic_ns;
		to.realtime_ns += clocks[high].monotonic_ns - clocks[low].monotonic_ns;
		return on_line(&from, &to, axes, x);
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (coordinate(&clocks[middle], axes.x) <= x)
			low = middle;
		else
			high = middle;
	}
	return on_line(&clocks[low], &clocks[high], axes, x);
}

static int64_t monotonic_of_stamp(const struct gmt_recording *recording, uint64_t stamp)
{
	struct axes axes = {
		offsetof(struct gmt_recording_clock, stamp),
		offsetof(struct gmt_recording_clock, monotonic_ns),
	};
	/* With fewer than two records the rate is unknown. */
	if (recording->clocks.count < 2)
		return stamp > INT64_MAX ? INT64_MAX : (int64_t)stamp;
	return interpolate(recording, axes, stamp);
}

uint64_t gmt_clock_time_ns(const struct gmt_recording *recording, uint64_t stamp)
{
	int64_t start = monotonic_of_stamp(recording, recording->process.start_stamp);
	int64_t then = monotonic_of_stamp(recording, stamp);

	return then > start ? (uint64_t)then - (uint64_t)start : 0;
}

uint64_t gmt_clock_time_of_epoch_ns(const struct gmt_recording *recording, uint64_t epoch_ns)
{
	struct axes axes = {
		offsetof(struct gmt_recording_clock, realtime_ns),
		offsetof(struct gmt_recording_clock, monotonic_ns),
	};

	if (recording->clocks.count < 2)
		return epoch_ns > recording->process.start_time_ns
			? epoch_ns - recording->process.start_time_ns
			: 0;

	int64_t start = monotonic_of_stamp(recording, recording->process.start_stamp);
	int64_t then = interpolate(recording, axes, epoch_ns);
	return then > start ? (uint64_t)then - (uint64_t)start : 0;
}

uint64_t gmt_clock_time_of_option_ns(const struct gmt_recording *recording, uint64_t moment)
{
	/* as epoch time: March 1973; as recording time: 3 years */
	const uint64_t first_epoch = 100000000000000000;

	return moment < first_epoch || moment == UINT64_MAX
		? moment
		: gmt_clock_time_of_epoch_ns(recording, moment);
}

uint64_t gmt_clock_span_ns(const struct gmt_recording *recording, uint64_t ticks)
{
	const struct gmt_recording_clock *clocks = recording->clocks.items;

	if (recording->clocks.count < 2)
		return ticks;

	const struct gmt_recording_clock *last = &clocks[recording->clocks.count - 1];
	unsigned __int128 span_ns = (unsigned __int128)ticks *
		(last->monotonic_ns - clocks->monotonic_ns) / (last->stamp - clocks->stamp);

	return span_ns < UINT64_MAX ? (uint64_t)span_ns : UINT64_MAX;
}

uint64_t gmt_clock_ticks(const struct gmt_recording *recording, uint64_t time_ns)
{
	const struct gmt_recording_clock *clocks = recording->clocks.items;
	const struct gmt_recording_clock *last;

	if (recording->clocks.count < 2)
		return time_ns;
	last = &clocks[recording->clocks.count - 1];
	/* Clock records advance, but the time of some machines may stand still. */
	if (last->monotonic_ns == clocks->monotonic_ns)
		return time_ns;

	unsigned __int128 ticks = (unsigned __int128)time_ns * (last->stamp - clocks->stamp) /
		(last->monotonic_ns - clocks->monotonic_ns);

	return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}
