/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PHASES_H
#define GMT_READER_STEPS_PHASES_H

#include "reader/steps/timeline.h"

/*
 * Fills the timeline's phases, segments and work_end from the snapshot's marks. What is closed without
 * having been opened is passed over. False when out of memory.
 */
bool gmt_phases_read(struct gmt_timeline *timeline, const struct gmt_snapshot *snapshot);

/* The stamp at which the interpreter begins to take the program apart: the end of its work. UINT64_MAX: no mark says when. */
uint64_t gmt_phases_work_end(const struct gmt_snapshot *snapshot);

#endif
