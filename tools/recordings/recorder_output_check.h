/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECORDER_OUTPUT_CHECK_H
#define GMT_TOOLS_RECORDINGS_RECORDER_OUTPUT_CHECK_H

#include <stdbool.h>

/*
 * Returns whether the recorder can create recordings with the name `output`, which may have tokens
 * such as %p. To find out, creates and removes a file in their folder, or in the nearest existing
 * folder above it. Does not check folders whose names have tokens, because their values are known
 * only in the program. If the recorder cannot create them, prints an error.
 */
bool gmt_recorder_output_check(const char *output);

#endif
