/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_RESOLVE_MOMENT_H
#define GMT_TOOLS_PIPELINE_RESOLVE_MOMENT_H

#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "reader/steps/timeline.h"
#include "tools/options/moment.h"

/*
 * Finds the time of a moment, in nanoseconds since the recording began. GMT_REPLAY_TO_END: the end
 * of the recording. For the peak, replays the recording. Fails if the recording has no such moment.
 */
enum gmt_status gmt_resolve_moment(const struct gmt_moment *moment,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t *ret_time_ns, struct gmt_error *error);

#endif
