/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_PAGE_H
#define GMT_TOOLS_REPORT_REPORT_PAGE_H

/* The HTML page of `report --html`: its name, and the parts of each recording. */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "render/report.h"
#include "tools/pipeline/pipeline.h"

/* Returns whether this program was built with the page. */
bool gmt_report_page_is_possible(void);

/* Same as gmt_report_page_is_possible, but prints an error of `verb` if the page is missing. */
bool gmt_report_page_require(const char *verb);

/*
 * Returns the name of the page: `wanted`, or if `wanted` is "" the default name for the recording
 * with `.html`, in `buffer` (default_output_name.h).
 */
const char *gmt_report_page_file_name(const char *wanted, const char *recording,
	char buffer[PATH_MAX]);

/*
 * Writes the parts of a recording (page_document.h). `number` is the recording's number in the
 * page. Returns false when out of memory; then no part was written.
 */
bool gmt_report_page_write(const struct gmt_page *page, struct gmt_report *report, unsigned number,
	FILE *parts);

/*
 * Writes the parts of a recording that cannot be read, with the last error message as the reason.
 */
void gmt_report_page_write_unreadable(const char *path, FILE *parts);

#endif
