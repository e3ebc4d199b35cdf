/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOM_MOMENT_H
#define GMT_ANALYSIS_OOM_OOM_MOMENT_H

/*
 * The memory at the moment of a refused request and its holders, from the accounting of that
 * moment.
 */

#include <stdbool.h>

#include "analysis/oom/ooms.h"

/*
 * Fills all fields that ooms.h assigns to the observer, except site and stack. Returns false if
 * memory is exhausted.
 */
bool gmt_oom_moment_fill(struct gmt_oom_row *row, const struct gmt_ooms *ooms,
	const struct gmt_accounting *accounting, const struct gmt_snapshot_event *event);

#endif
