/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_TERMINAL_H
#define GMT_TOOLS_OUTPUT_TERMINAL_H

/* The width of the terminal, and its character set. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { GMT_TERMINAL_COLUMNS = 80 }; /* width of text that is not for a terminal */

/*
 * Returns the width of the terminal to which `file` writes, from 60 to 240 columns. Returns
 * GMT_TERMINAL_COLUMNS if `file` is not a terminal or its width is unknown.
 */
size_t gmt_terminal_columns(FILE *file);

/* Returns whether the locale's texts are UTF-8. */
bool gmt_terminal_is_utf8(void);

#endif
