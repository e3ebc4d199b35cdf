/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_PIPELINE_H
#define GMT_TOOLS_PIPELINE_PIPELINE_H

/* One recording with the results of all analyses, computed in the order of their dependencies. */

#include "analysis/recording/warnings.h"
#include "analysis/allocator/custom_heaps.h"
#include "analysis/history/history.h"
#include "analysis/leaks/leaks.h"
#include "analysis/ledger/ledger.h"
#include "analysis/oom/ooms.h"
#include "analysis/history/sites.h"
#include "analysis/steps/step_parts.h"
#include "analysis/tables/summary.h"
#include "analysis/allocator/allocator_state.h"
#include "reader/replay/replay.h"
#include "reader/load/snapshot.h"
#include "reader/steps/timeline.h"
#include "reader/stacks/traces.h"

struct gmt_pipeline {
	struct gmt_snapshot *snapshot;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_history history;
	struct gmt_ooms ooms;
	struct gmt_ledger_watch ledger_watch;
	struct gmt_ledger ledger;
	struct gmt_replay replay;
	struct gmt_allocator_state allocator_state; /* computed only if wants_allocator_state is set */
	struct gmt_step_parts step_parts; /* computed only if wants_allocator_state is set */
	struct gmt_summary summary;
	struct gmt_sites sites;
	struct gmt_heaps heaps;
	struct gmt_leaks leaks;
	struct gmt_warnings warnings;
	uint64_t until_ns; /* end of the replay; GMT_REPLAY_TO_END: the whole recording */
};

struct gmt_pipeline_options {
	struct gmt_traces_options traces;
	/* nanoseconds since the start; 10^17 or more: since the Unix epoch; UINT64_MAX: all */
	uint64_t until;
	struct gmt_leaks_options leaks;
	bool wants_allocator_state; /* compute the data for gmt_allocator_state_parts_init */
};

/* Default options: all values are the defaults of the leak analysis. */
extern const struct gmt_leaks_options gmt_pipeline_default_leaks;

/*
 * Loads `path` and runs all analyses. Returns 0, or an exit code after an error message. In both
 * cases, end `ret_pipeline` (zeroed) with gmt_pipeline_fini.
 */
int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options,
	struct gmt_pipeline *ret_pipeline);

void gmt_pipeline_fini(struct gmt_pipeline *pipeline);

#endif
