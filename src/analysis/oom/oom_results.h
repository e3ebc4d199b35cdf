/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOM_RESULTS_H
#define GMT_ANALYSIS_OOM_OOM_RESULTS_H

/*
 * The outcome of each refusal for lack of memory (accounting/oom_outcomes.h; the rules are in
 * ooms.h). A pure function of events.
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

struct gmt_oom_results {
	GMT_VEC(struct gmt_oom_refusal) refusals; /* in order of time */
};

/*
 * Finds the outcomes in the first `count` events. Returns false if memory is exhausted. In both
 * cases the caller ends `ret_results` (zeroed).
 */
bool gmt_oom_results_find(struct gmt_oom_results *ret_results,
	const struct gmt_recording *recording, size_t count);

void gmt_oom_results_fini(struct gmt_oom_results *results);

#endif
