/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_WRAP_STREAM_H
#define GMT_RENDER_LINES_WRAP_STREAM_H

/*
 * A stream that wraps long lines of text at GMT_WRAP_COLUMNS. The rules:
 *
 * - First, the longest paths in the line lose their front. They keep the file's name and the line's
 *   number.
 * - If the line is still too long, it is broken at a space. The next line begins below the text
 *   after the label, such as "  note      ...". Without a label, it begins with an indent.
 * - A quotation, such as a command between two `, moves to the next line as a whole if it fits
 *   there.
 * - A word that is longer than a line loses its front if it is a path, else its middle.
 * - A line with a command for the user to copy stays as it is.
 * - All styles (colours) stay.
 */

#include <stdio.h>

enum { GMT_WRAP_COLUMNS = 120 };

/*
 * Opens a stream that writes each line to `to` when the line is complete. Returns `to` itself when
 * out of memory. ftello(3) of the stream counts the bytes that were written to it. The caller ends
 * it with gmt_wrap_stream_close before it writes anything else to `to`.
 */
FILE *gmt_wrap_stream_open(FILE *to);

/* Writes the last line and closes the stream, unless it is `to` itself. */
void gmt_wrap_stream_close(FILE *stream, FILE *to);

#endif
