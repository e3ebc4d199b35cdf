/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_PAGE_DOCUMENT_H
#define GMT_TOOLS_REPORT_PAGE_DOCUMENT_H

/*
 * Puts the HTML page together. Each recording contributes parts to different places of the page, so
 * the parts of all recordings are collected in a temporary file first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum gmt_page_part {
	GMT_PAGE_PART_ITEM,    /* the recording's item in the index */
	GMT_PAGE_PART_SUMMARY, /* what a browser without scripts shows */
	GMT_PAGE_PART_PACKETS, /* the HTML elements with the recording's data */
	GMT_PAGE_PART_COUNT,
};

/* Writes a part to the temporary file. */
void gmt_page_part_write(FILE *parts, enum gmt_page_part part, const char *text, size_t length);

/*
 * Writes the page from the program's template and the temporary file, whose content it reads from
 * the beginning. False when out of memory, or if the file cannot be read.
 */
bool gmt_page_document_write(FILE *parts, FILE *document);

#endif
