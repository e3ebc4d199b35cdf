/* SPDX-License-Identifier: MIT */
#include "analysis/recording/overhead.h"

#include "reader/load/clock.h"

struct gmt_overhead_estimate gmt_overhead_estimate(const struct gmt_snapshot *snapshot)
{
	const struct gmt_overhead *told = &snapshot->overhead;
	struct gmt_overhead_estimate estimate = {
		.timed_calls = told->timed_events,
		.long_calls = told->long_events,
		.writer_ns = told->writer_ns,
	};
	unsigned __int128 calls_ns;

	if (!told->timed_events)
		return estimate;
	/*
	 * Computed from the ticks, because call_ns is rounded. The 128-bit product cannot overflow for
	 * any values in the file.
	 */
	calls_ns = (unsigned __int128)gmt_clock_span_ns(snapshot, told->timed_ticks) *
		snapshot->seen_events / told->timed_events;
	estimate.call_ns = gmt_clock_span_ns(snapshot, told->timed_ticks / told->timed_events);
	estimate.calls_ns = calls_ns < UINT64_MAX ? (uint64_t)calls_ns : UINT64_MAX;
	return estimate;
}
