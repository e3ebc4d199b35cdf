/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_H
#define GMT_TOOLS_OUTPUT_H

/* Where results go: stdout or a file, and whether what was written arrived. */

#include <stdbool.h>
#include <stdio.h>

enum gmt_color { GMT_COLOR_AUTO, GMT_COLOR_ALWAYS, GMT_COLOR_NEVER }; /* "auto|always|never" */

/* Opens `path`, or stdout when it is NULL or "-". NULL, and said, when it cannot be written. */
FILE *gmt_output_open(const char *path);

/* Closes what gmt_output_open gave. Returns `code`, or 3, and said, when not all could be written. */
int gmt_output_close(FILE *file, const char *path, int code);

/* The last act of main: flushes stdout. A reader that went away is no error. */
int gmt_output_finish_stdout(int code);

/* Whether to write colours to `file`: --color, NO_COLOR, CLICOLOR_FORCE, TERM, a terminal. */
bool gmt_output_color(FILE *file, enum gmt_color color);

#endif
