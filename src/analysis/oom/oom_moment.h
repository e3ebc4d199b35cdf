/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOM_MOMENT_H
#define GMT_ANALYSIS_OOM_OOM_MOMENT_H

/* What there was, and who held it, when a request was refused: read from the books of that moment. */

#include <stdbool.h>

#include "analysis/oom/ooms.h"

/* Fills what ooms.h says the observer fills, but for site and stack. False: out of memory. */
bool gmt_oom_moment_fill(struct gmt_oom_row *row, const struct gmt_ooms *ooms, const struct gmt_accounting *accounting,
	const struct gmt_snapshot_event *event);

#endif
