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

/* A recording, for one page. */
struct gmt_page_view {
	const struct gmt_page *page;
	const struct gmt_report *report; /* its `without_sites` is set */
	struct gmt_overhead_estimate overhead; /* of the recorder */
	unsigned number; /* of the recording in the page, from 0 */
};

/*
 * Writes the elements with the packets of the recording: its own, and one for each device. False
 * when out of memory.
 */
bool gmt_page_write_packets(const struct gmt_page_view *view, FILE *file);

/* Writes the recording as an item of the index. */
void gmt_page_write_index_item(const struct gmt_page_view *view, FILE *file);

/* Writes the item of a recording that cannot be read. `error` says why. */
void gmt_page_write_unreadable_item(const char *path, const char *error, FILE *file);

/* Writes what a browser without scripts shows of the recording. False when out of memory. */
bool gmt_page_write_summary(const struct gmt_page_view *view, FILE *file);

/* The same for a recording that cannot be read. */
void gmt_page_write_unreadable_summary(const char *path, const char *error, FILE *file);

/* Writes the element of the index. `items` are its items, separated by commas. */
void gmt_page_write_index(const char *items, size_t length, FILE *file);

#endif
