/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_REFUSALS_H
#define GMT_RENDER_REFUSALS_H

#include "render/console.h"
#include "render/report.h"

/*
 * Writes the refused requests that were not for lack of memory (those have paragraphs of their own,
 * see ooms.h), and the refused frees.
 */
void gmt_refusals_text(const struct gmt_report *report, const struct gmt_console *console);

#endif
