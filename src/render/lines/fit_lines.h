/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_FIT_LINES_H
#define GMT_RENDER_LINES_FIT_LINES_H

/*
 * Fits lines of text into GMT_FIT_COLUMNS. A longer line loses the front of its longest paths,
 * never a file's name or a line's number. If that is not enough, the line is continued: below its
 * text if it has a label, such as "  note      ...", else with an indent. A quotation, such as a
 * command between two `, moves to the next line as a whole if it fits there. A word that is longer
 * than a line loses its front if it is a path, else its middle. A line with a command for the user
 * to copy stays as it is. Styles are never lost.
 */

#include <stdio.h>

enum { GMT_FIT_COLUMNS = 120 };

/*
 * Returns a stream whose lines go to `to` when they are whole. Returns `to` itself when out of
 * memory. ftello(3) of the stream counts the bytes written to it. End it with gmt_fit_close before
 * anything else is written to `to`.
 */
FILE *gmt_fit_open(FILE *to);

/* Writes the last line and closes the stream, unless it is `to` itself. */
void gmt_fit_close(FILE *fitted, FILE *to);

#endif
