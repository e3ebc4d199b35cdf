/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOM_REFUSALS_H
#define GMT_ANALYSIS_OOM_OOM_REFUSALS_H

/*
 * All refusals for lack of memory, each with its outcome (accounting/oom_outcomes.h; the rules are
 * in ooms.h). A pure function of events.
 */

#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"
#include "accounting/oom_outcomes.h"
#include "reader/load/recording.h"

struct gmt_oom_refusal {
	size_t event; /* number, in order of time */
	uint32_t parts; /* number of the driver's refusals that this refusal stands for */
	uint8_t outcome; /* enum gmt_oom_outcome */
};

struct gmt_oom_refusals {
	GMT_VEC(struct gmt_oom_refusal) rows; /* in order of time */
};

/*
 * Finds the outcomes in the first `count` events. Returns false if memory is exhausted. In both
 * cases the caller ends `ret_refusals` (zeroed).
 */
bool gmt_oom_refusals_find(struct gmt_oom_refusals *ret_refusals,
	const struct gmt_recording *recording, size_t count);

void gmt_oom_refusals_fini(struct gmt_oom_refusals *refusals);

#endif
