/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_H
#define GMT_RENDER_PAGE_H

/*
 * The HTML report: a template with the page's code, and the data of the recordings as elements
 * (docs/internals/page-data.md).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/page/page.h"
#include "analysis/recording/overhead.h"
#include "render/report.h"

/* A recording as one part of a page. */
struct gmt_page_view {
	const struct gmt_page *page;
	const struct gmt_report *report; /* its `without_sites` is set */
	struct gmt_overhead_estimate overhead; /* what recording cost the program */
	unsigned number; /* index of the recording in the page */
};

/*
 * Writes the packets of the recording as elements of the page: one packet for the recording itself
 * and one for each device. Returns false when out of memory.
 */
bool gmt_page_write_packets(const struct gmt_page_view *view, FILE *file);

/* Writes the item of the recording in the index. */
void gmt_page_write_index_item(const struct gmt_page_view *view, FILE *file);

/* Writes the index item of a recording that cannot be read. `error` is the reason. */
void gmt_page_write_unreadable_item(const char *path, const char *error, FILE *file);

/*
 * Writes the text that a browser without scripts shows for the recording. Returns false when out of
 * memory.
 */
bool gmt_page_write_summary(const struct gmt_page_view *view, FILE *file);

/* Writes the same text for a recording that cannot be read. */
void gmt_page_write_unreadable_summary(const char *path, const char *error, FILE *file);

/* Writes the index as an element of the page. `items` has its items, separated by commas. */
void gmt_page_write_index(const char *items, size_t length, FILE *file);

#endif
