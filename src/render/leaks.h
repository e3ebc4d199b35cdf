/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LEAKS_H
#define GMT_RENDER_LEAKS_H

/* Leaks, steps and phases, as text and as JSON (docs/report-json.md). */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/history/history.h"
#include "analysis/leaks/leaks.h"
#include "analysis/steps/step_parts.h"
#include "reader/steps/timeline.h"
#include "render/json.h"
#include "render/plain.h"

/* What the renderers below print from. */
struct gmt_leaks_view {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_leaks *leaks;
	const struct gmt_step_parts *step_parts; /* of reports; else NULL */
	uint64_t limit;  /* findings of the text; UINT64_MAX: all */
	uint64_t frames; /* lines of stack for each */
	bool brief;      /* a part of a report: no definitions explained */
};

/* The key "leaks" and its list, into the object that is open. */
void gmt_leaks_json(const struct gmt_leaks_view *view, struct gmt_json *json);

/* The keys "steps" and "phases". */
void gmt_steps_json(const struct gmt_leaks_view *view, struct gmt_json *json);

/* False: out of memory. */
bool gmt_leaks_text(const struct gmt_leaks_view *view, const struct gmt_plain *plain);

/* What a step does, part by part; nothing where there are no steps. */
void gmt_steps_text(const struct gmt_leaks_view *view, const struct gmt_plain *plain);

#endif
