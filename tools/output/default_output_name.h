/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_DEFAULT_OUTPUT_NAME_H
#define GMT_TOOLS_OUTPUT_DEFAULT_OUTPUT_NAME_H

#include <limits.h>

/*
 * Writes the default name of a file that is made from a recording to `buffer`: the recording's name
 * with `suffix` in place of `.gmt.gz`, in the current folder. Cuts a name that is too long for the
 * file system. Returns `buffer`.
 */
const char *gmt_default_output_name(const char *recording, const char *suffix,
	char buffer[PATH_MAX]);

#endif
