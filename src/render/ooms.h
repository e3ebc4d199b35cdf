/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_OOMS_H
#define GMT_RENDER_OOMS_H

/* The requests that were refused for lack of memory, as a part of a report. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/json.h"
#include "render/report.h"

/* Finds the steps of refused requests and of growth. A function may be NULL: no step is known. */
struct gmt_ooms_steps {
	/* Finds the step that contains a moment. Returns false if there is no such step. */
	bool (*of_stamp)(const void *user, uint64_t stamp, uint64_t *ret_step);
	/*
	 * Finds the step since which a site (id in the replay) grows. Returns false if it is not known
	 * to grow.
	 */
	bool (*of_growth)(const void *user, uint32_t site, uint64_t *ret_step);
	const void *user;
};

/* Returns functions that search a report's steps and leaks. Valid as long as `view`. */
struct gmt_ooms_steps gmt_ooms_steps_of(const struct gmt_leaks_view *view);

/*
 * Writes a heading, a paragraph for each of the most important failures, and a line for retries.
 * Writes nothing if there were no refusals. `steps` may be NULL. Returns false if memory is
 * exhausted.
 */
bool gmt_ooms_text(const struct gmt_report *report, const struct gmt_ooms_steps *steps, FILE *file);

/*
 * Writes the keys "ooms" and "oom_counts" (docs/report-json.md) into the open object. Holders are
 * given as indices in report->sites, in its current order. `steps` may be NULL.
 */
void gmt_ooms_json(const struct gmt_report *report, const struct gmt_ooms_steps *steps,
	struct gmt_json *json);

#endif
