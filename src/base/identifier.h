/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_IDENTIFIER_H
#define GMT_BASE_IDENTIFIER_H

/*
 * Random names, as the kernel writes them: 36 characters, hexadecimal digits and hyphens. The recorder gives one to each
 * recording, `gpumemtrace run` one to each run, and the kernel one to each start of the machine. No memory; any thread.
 */

#include <stdbool.h>

enum { GMT_IDENTIFIER_BYTES = 40 }; /* with the NUL, and padding */

/* Writes a new one, or "" where /proc cannot be read. */
void gmt_identifier_make(char ret_identifier[GMT_IDENTIFIER_BYTES]);

/* Writes the one of this start of the machine, or "" where /proc cannot be read. */
void gmt_identifier_of_boot(char ret_identifier[GMT_IDENTIFIER_BYTES]);

/* Whether `text` is a whole identifier. Text from an environment or a file may be anything. */
bool gmt_identifier_is_one(const char *text);

#endif
