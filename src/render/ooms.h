/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_OOMS_H
#define GMT_RENDER_OOMS_H

/* The requests that were refused for lack of memory, as a part of a report. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/json.h"
#include "render/report.h"

/* What not every report knows; a function that is NULL answers nothing. */
struct gmt_ooms_steps {
	/* The step that a moment lies in. */
	bool (*of_stamp)(const void *user, uint64_t stamp, uint64_t *ret_step);
	/* The step since which a site (id in the replay) grows; false: it does not, as far as is known. */
	bool (*of_growth)(const void *user, uint32_t site, uint64_t *ret_step);
	const void *user;
};

/* What a report's steps and leaks answer; good as long as `view` is. */
struct gmt_ooms_steps gmt_ooms_steps_of(const struct gmt_leaks_view *view);

/*
 * A heading and a paragraph for each of the failures that matter most, and a line for retries; nothing
 * when there were none. `steps` may be NULL. False: out of memory.
 */
bool gmt_ooms_text(const struct gmt_report *report, const struct gmt_ooms_steps *steps, FILE *file);

/*
 * The keys "ooms" and "oom_counts" (docs/report-json.md) into the object that is open. Holders are given
 * by their place among report->sites as they are sorted now. `steps` may be NULL.
 */
void gmt_ooms_json(const struct gmt_report *report, const struct gmt_ooms_steps *steps, struct gmt_json *json);

#endif
