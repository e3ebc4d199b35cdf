/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_RESOLVE_STRETCH_H
#define GMT_TOOLS_PIPELINE_RESOLVE_STRETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "reader/steps/timeline.h"
#include "tools/options/moment.h"

/* A stretch of a recording, as the user types it: `--from=4s`, or `--phase=NAME`. */
struct gmt_stretch_option {
	struct gmt_moment from;
	const char *phase; /* the last phase with this name; NULL: not given */
};

/* The place of a stretch in the recording. */
struct gmt_stretch_range {
	/* since the recording began; until_ns GMT_REPLAY_TO_END: the end of the recording */
	uint64_t from_ns, until_ns;
	size_t first; /* number of the stretch's first event, in order of time */
	size_t phase; /* index in the timeline's phases; SIZE_MAX: the stretch is not a phase */
};

static inline bool gmt_stretch_is_given(const struct gmt_stretch_option *option)
{
	return option->phase || option->from.kind != GMT_MOMENT_NOT_GIVEN;
}

/*
 * Finds the stretch in the recording. It ends at `until_ns`, but a phase ends at its own end. Fails
 * if the recording has no such phase or moment, if the stretch begins in the compacted part, or if
 * it would end before it begins.
 */
enum gmt_status gmt_stretch_resolve(const struct gmt_stretch_option *option,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t until_ns, struct gmt_stretch_range *ret_range,
	struct gmt_error *error);

#endif
