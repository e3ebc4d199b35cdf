/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_REPORT_PAGE_H
#define GMT_TOOLS_REPORT_REPORT_PAGE_H

/* The HTML page of `report --html`: its file, and the parts of each recording. */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "render/report.h"
#include "tools/pipeline/pipeline.h"

/* Returns whether this program can write pages. */
bool gmt_report_page_is_possible(void);

/* Does the same, and prints an error if not. */
bool gmt_report_page_is_built(const char *verb);

/*
 * Returns the file for the page: `wanted`, or if that is "" the name of the recording with `.html`
 * in place of `.gmt.gz`, in the current folder. A name that would be too long for a file loses its
 * end.
 */
const char *gmt_report_page_target(const char *wanted, const char *recording,
	char buffer[PATH_MAX]);

/*
 * Writes the parts of a recording (page_document.h). `number` is its number in the page. False when
 * out of memory; then it has written nothing.
 */
bool gmt_report_page_write(const struct gmt_page *page, struct gmt_report *report, unsigned number,
	FILE *parts);

/* Writes the parts of a recording that cannot be read, with the last error message. */
void gmt_report_page_write_unreadable(const char *path, FILE *parts);

#endif
