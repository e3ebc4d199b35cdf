/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_OVERVIEW_H
#define GMT_RENDER_OVERVIEW_H

/* The first screen of a report: at most GMT_OVERVIEW_SCREEN lines. */

#include "render/report.h"

enum { GMT_OVERVIEW_SCREEN = 24 };

/* Returns false if memory is exhausted. */
bool gmt_overview_text(const struct gmt_report *report, FILE *file);

/* Writes the key "overview" (docs/report-json.md) into the open object. */
void gmt_overview_json(const struct gmt_report *report, struct gmt_json *json);

#endif
