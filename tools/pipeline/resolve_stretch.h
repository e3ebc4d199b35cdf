/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_RESOLVE_STRETCH_H
#define GMT_TOOLS_PIPELINE_RESOLVE_STRETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "reader/steps/timeline.h"
#include "tools/options/moment.h"

/* A stretch of a recording, as options give it: `--from=4s`, or `--phase=NAME`. */
struct gmt_stretch_option {
	struct gmt_moment from;
	const char *phase; /* the last phase of this name; NULL: no phase */
};

/* Where a stretch lies. */
struct gmt_stretch_range {
	uint64_t from_ns, until_ns; /* since the recording began; GMT_REPLAY_TO_END: its end */
	size_t first; /* number of its first event in order of time */
	size_t phase; /* index in the timeline's phases; SIZE_MAX: the stretch is not a phase */
};

static inline bool gmt_stretch_is_given(const struct gmt_stretch_option *option)
{
	return option->phase || option->from.kind != GMT_MOMENT_NOT_GIVEN;
}

/*
 * Finds the stretch in the recording. `until_ns` is the end of the replay that other options ask
 * for; a phase ends at its own end. Fails if there is no such phase or moment, if the stretch
 * begins in the compacted part, or if it would end before it begins.
 */
enum gmt_status gmt_stretch_resolve(const struct gmt_stretch_option *option,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t until_ns, struct gmt_stretch_range *ret_range,
	struct gmt_error *error);

#endif
