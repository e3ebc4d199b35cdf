/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_RUN_OUTPUT_H
#define GMT_TOOLS_OUTPUT_RUN_OUTPUT_H

#include <stdbool.h>

/*
 * Checks whether the recorder can create files of the name `output`, which may have tokens, as far
 * as that is known before the program starts. Creates a file in their folder, or in the nearest
 * existing folder above it, and removes it. Does not check folders with tokens in their names. On
 * failure, prints an error and returns false.
 */
bool gmt_run_output_check(const char *output);

#endif
