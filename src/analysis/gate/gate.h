/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_H
#define GMT_ANALYSIS_GATE_GATE_H

/*
 * Judges one recording by the rules of rules.def. In the flow: snapshot, replay, leaks, out-of-memory
 * tables -> gate -> verdict -> renderers.
 */

#include "analysis/gate/baseline.h"
#include "analysis/recording/warnings.h"
#include "analysis/leaks/leaks.h"
#include "analysis/gate/limits.h"
#include "analysis/oom/ooms.h"
#include "analysis/compare/site_key.h"
#include "analysis/history/sites.h"
#include "analysis/gate/suppressions.h"
#include "analysis/gate/verdict.h"
#include "reader/steps/timeline.h"

/* What is demanded. */
struct gmt_gate {
	const struct gmt_limits *limits;
	struct gmt_suppressions *suppressions; /* their use is counted */
	const struct gmt_baseline *baseline;   /* NULL: no regression is looked for */
	struct gmt_baseline *new_baseline;     /* what is found goes there, unsorted; NULL: nowhere */
};

/* One recording, as the analyses have it. */
struct gmt_gate_input {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_leaks *leaks;
	const struct gmt_ooms *ooms;
	const struct gmt_warnings *warnings;
	const struct gmt_site_keys *keys;
	struct gmt_sites *sites; /* sorted anew */
};

/* Adds the recording to `verdict`. Fails only for lack of memory. */
enum gmt_status gmt_gate_judge(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_gate_input *input, struct gmt_error *error);

/* After all files: notes what the baseline has and none of them. */
void gmt_gate_note_missing(struct gmt_verdict *verdict, const struct gmt_baseline *baseline);

#endif
