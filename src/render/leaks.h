/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LEAKS_H
#define GMT_RENDER_LEAKS_H

/* Leaks, steps and phases, as text and as JSON (docs/report-json.md). */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/history/history.h"
#include "analysis/history/phase_memory.h"
#include "analysis/leaks/leaks.h"
#include "analysis/steps/step_parts.h"
#include "reader/steps/timeline.h"
#include "render/json.h"
#include "render/console.h"

/* The input of the renderers below. */
struct gmt_leaks_view {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_history *history;
	const struct gmt_leaks *leaks;
	const struct gmt_step_parts *step_parts; /* only for reports; else NULL */
	const struct gmt_phase_memory *phase_memory; /* only for reports as JSON; else NULL */
	uint64_t limit;  /* number of findings in text; UINT64_MAX: all */
	uint64_t frames; /* lines of stack for each finding */
	bool brief;      /* part of a report: does not explain definitions */
	/*
	 * JSON: the lists have a maximum length. A series is split into at most GMT_LEAKS_MAX_STEPS
	 * parts; the step with the largest peak represents its part. If there are more than
	 * GMT_LEAKS_MAX_PHASES phases, the list of phases is empty.
	 */
	bool is_bounded;
};

enum { GMT_LEAKS_MAX_STEPS = 4096, GMT_LEAKS_MAX_PHASES = 2000 };

/* "+512 B a step", or the retained bytes of a finding that has no steps. */
struct gmt_leak_amount {
	char text[48];
};
struct gmt_leak_amount gmt_leak_amount(const struct gmt_leak *leak);

/* Writes the key "leaks" and its list into the open object. */
void gmt_leaks_json(const struct gmt_leaks_view *view, struct gmt_json *json);

/* Writes the keys "steps" and "phases". */
void gmt_steps_json(const struct gmt_leaks_view *view, struct gmt_json *json);

/* Returns false if memory is exhausted. */
bool gmt_leaks_text(const struct gmt_leaks_view *view, const struct gmt_console *console);

/* Writes the memory of a step, by part. If there are no steps, writes only why. */
void gmt_steps_text(const struct gmt_leaks_view *view, const struct gmt_console *console);

#endif
