/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_CHECK_OUTPUT_PATH_H
#define GMT_TOOLS_OUTPUT_CHECK_OUTPUT_PATH_H

#include <stdbool.h>

/*
 * Checks whether the recorder can create files of the name `output`, which may have tokens, as far
 * as that is known before the program starts. Creates a file in their folder, or in the nearest
 * existing folder above it, and removes it. Does not check folders with tokens in their names. On
 * failure, prints an error and returns false.
 */
bool gmt_check_output_path(const char *output);

#endif
