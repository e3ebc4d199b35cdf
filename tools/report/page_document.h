/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_PAGE_DOCUMENT_H
#define GMT_TOOLS_REPORT_PAGE_DOCUMENT_H

/*
 * Assembles the HTML page. Each recording has parts at several places of the page, so a temporary
 * file collects the parts of all recordings first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum gmt_page_part {
	GMT_PAGE_PART_ITEM,    /* the recording's item in the index */
	GMT_PAGE_PART_SUMMARY, /* the text for a browser without scripts */
	GMT_PAGE_PART_PACKETS, /* the HTML elements with the recording's data */
	GMT_PAGE_PART_COUNT,
};

/* Writes a part to the temporary file. */
void gmt_page_part_write(FILE *parts, enum gmt_page_part part, const char *text, size_t length);

/*
 * Writes the page from the program's template and the temporary file. Returns false when out of
 * memory, or if the file cannot be read.
 */
bool gmt_page_document_write(FILE *parts, FILE *document);

#endif
