/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_NAME_H
#define GMT_TOOLS_OUTPUT_OUTPUT_NAME_H

#include <limits.h>

/*
 * Returns the default name of a file that is made from a recording: the recording's name with
 * `suffix` in place of `.gmt.gz`, in the current folder. A name that would be too long for a file
 * loses its end. Returns `buffer`.
 */
const char *gmt_output_name(const char *recording, const char *suffix, char buffer[PATH_MAX]);

#endif
