/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_FIRST_SCREEN_H
#define GMT_TOOLS_REPORT_FIRST_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes the first screen of a recording's report to `file`, after an empty line. On failure,
 * prints an error and returns false.
 */
bool gmt_first_screen(const char *path, FILE *file);

#endif
