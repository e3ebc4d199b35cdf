/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RUN_OUTPUT_H
#define GMT_TOOLS_RUN_OUTPUT_H

#include <stdbool.h>

/*
 * Whether the recorder can make files of the name `output`, which may have tokens, as far as that can be known before the
 * program has started. Makes a file without a name in their folder, or in the nearest one that is there, and removes it. False,
 * and said in one line.
 */
bool gmt_run_output_check(const char *output);

#endif
