/* SPDX-License-Identifier: MIT */
#include "analysis/recording/overhead.h"

#include "reader/load/clock.h"

struct gmt_overhead_estimate gmt_overhead_estimate(const struct gmt_recording *recording)
{
	const struct gmt_overhead *reported = &recording->overhead;
	struct gmt_overhead_estimate estimate = {
		.timed_calls = reported->timed_events,
		.long_calls = reported->long_events,
		.writer_ns = reported->writer_ns,
	};
	unsigned __int128 calls_ns;

	if (!reported->timed_events)
		return estimate;
	/*
	 * Computed from the ticks, because call_ns is rounded. The 128-bit product cannot overflow for
	 * any values in the file.
	 */
	calls_ns = (unsigned __int128)gmt_clock_span_ns(recording, reported->timed_ticks) *
		recording->seen_events / reported->timed_events;
	estimate.call_ns = gmt_clock_span_ns(recording, reported->timed_ticks / reported->timed_events);
	estimate.calls_ns = calls_ns < UINT64_MAX ? (uint64_t)calls_ns : UINT64_MAX;
	return estimate;
}
