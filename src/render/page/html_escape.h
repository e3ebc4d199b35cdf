/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_HTML_ESCAPE_H
#define GMT_RENDER_PAGE_HTML_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes a text as content of an HTML element or of an attribute in double quotes. Control
 * characters except line feeds, and bytes that are not UTF-8, become U+FFFD.
 */
void gmt_html_escape(FILE *file, const char *text, size_t length);

#endif
