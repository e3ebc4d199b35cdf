/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOM_MOMENT_H
#define GMT_ANALYSIS_OOM_OOM_MOMENT_H

/*
 * The memory at the moment of a refused request, and the sites that held it. Read from the
 * accounting of that moment.
 */

#include <stdbool.h>

#include "analysis/oom/ooms.h"

/*
 * Fills the fields of `row` that the observer fills (ooms.h), except site and stack. `event` is the
 * refusal. Returns false if memory is exhausted.
 */
bool gmt_oom_moment_fill(struct gmt_oom_row *row, const struct gmt_ooms *ooms,
	const struct gmt_accounting *accounting, const struct gmt_recording_event *event);

#endif
