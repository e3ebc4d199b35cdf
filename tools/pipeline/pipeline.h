/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_PIPELINE_H
#define GMT_TOOLS_PIPELINE_PIPELINE_H

/* One recording with all that verbs conclude from it, made in the order in which one thing needs another. */

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
	struct gmt_allocator_state where; /* when it was asked for, ... */
	struct gmt_step_parts step_parts; /* ... as this */
	struct gmt_summary summary;
	struct gmt_sites sites;
	struct gmt_heaps heaps;
	struct gmt_leaks leaks;
	struct gmt_warnings warnings;
	uint64_t until_ns; /* what was replayed; GMT_REPLAY_TO_END: all */
};

struct gmt_pipeline_options {
	struct gmt_traces_options traces;
	uint64_t until; /* nanoseconds since the start, or of the Unix epoch when 10^17 or more; UINT64_MAX: all */
	struct gmt_leaks_options leaks;
	bool wants_where; /* what gmt_allocator_state_parts_init makes its parts from */
};

/* All that is said, by default. */
extern const struct gmt_leaks_options gmt_pipeline_default_leaks;

/*
 * Loads `path` and makes everything; says what is wrong and returns an exit code, 0 when all is well.
 * `ret_parts` (zeroed) is to be ended with gmt_pipeline_fini in any case.
 */
int gmt_pipeline_load(const char *path, const struct gmt_pipeline_options *options, struct gmt_pipeline *ret_parts);

void gmt_pipeline_fini(struct gmt_pipeline *parts);

#endif
