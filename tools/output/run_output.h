/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_RUN_OUTPUT_H
#define GMT_TOOLS_OUTPUT_RUN_OUTPUT_H

#include <stdbool.h>

/*
 * Whether the recorder can make files of the name `output`, which may have tokens, as far as that can be known before the
 * program has started. Makes a file in their folder, or in the nearest one above it that is there, and removes it. A folder with
 * tokens in its name is not looked at. False, and said in one line.
 */
bool gmt_run_output_check(const char *output);

#endif
