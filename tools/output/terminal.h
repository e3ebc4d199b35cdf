/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_TERMINAL_H
#define GMT_TOOLS_OUTPUT_TERMINAL_H

/* What the terminal can show. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { GMT_TERMINAL_COLUMNS = 80 }; /* of text that goes elsewhere */

/*
 * Returns the width of the terminal to which `file` writes, from 60 to 240 columns. Returns
 * GMT_TERMINAL_COLUMNS if it is no terminal, or one of unknown width.
 */
size_t gmt_terminal_columns(FILE *file);

/* Returns whether the locale's texts are UTF-8. */
bool gmt_terminal_is_utf8(void);

#endif
