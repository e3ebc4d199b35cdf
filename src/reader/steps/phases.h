/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PHASES_H
#define GMT_READER_STEPS_PHASES_H

#include "reader/steps/timeline.h"

/*
 * Fills the timeline's phases, segments and work_end from the recording's marks. Ignores an end
 * without a begin. Returns false when out of memory.
 */
bool gmt_phases_read(struct gmt_timeline *timeline, const struct gmt_recording *recording);

/*
 * Returns the stamp at which the interpreter begins to shut down, which is the end of the program's
 * work. Returns UINT64_MAX if no mark records it.
 */
uint64_t gmt_phases_work_end(const struct gmt_recording *recording);

#endif
