/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_LOAD_INPUT_H
#define GMT_TOOLS_RECORDINGS_LOAD_INPUT_H

#include "reader/load/recording.h"

enum { GMT_EXIT_USAGE = 2, GMT_EXIT_UNREADABLE = 3, GMT_EXIT_INCOMPLETE = 4 };

/*
 * Loads a recording with a progress bar. If the recording cannot be read, prints an error, returns
 * the exit code and leaves *ret_recording NULL. If only a part can be read, prints a warning and
 * returns 0.
 */
int gmt_input_load(const char *path, struct gmt_recording **ret_recording);

/*
 * Reads a whole small text file. The caller frees the result with free(). Returns NULL and sets
 * errno on failure.
 */
char *gmt_input_read_text(const char *path);

#endif
