/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_UUID_H
#define GMT_BASE_UUID_H

/*
 * Random identifiers in the kernel's form: 36 characters, hexadecimal digits and hyphens. The
 * recorder gives one to each recording. `gpumemtrace run` gives one to each run. The kernel gives
 * one to each boot. Allocates no memory; any thread.
 */

#include <stdbool.h>

enum { GMT_UUID_BYTES = 40 }; /* with the NUL and padding */

/* Writes a new identifier, or "" if /proc cannot be read. */
void gmt_uuid_make(char ret_identifier[GMT_UUID_BYTES]);

/* Writes the identifier of the current boot, or "" if /proc cannot be read. */
void gmt_uuid_of_boot(char ret_identifier[GMT_UUID_BYTES]);

/*
 * Returns whether `text` is a whole identifier. Use it for text from the environment or a file,
 * which may be anything.
 */
bool gmt_uuid_is_valid(const char *text);

#endif
