/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_INPUT_H
#define GMT_TOOLS_RECORDINGS_INPUT_H

#include "reader/load/snapshot.h"

enum { GMT_EXIT_USAGE = 2, GMT_EXIT_UNREADABLE = 3, GMT_EXIT_INCOMPLETE = 4 };

/*
 * Loads a snapshot with a progress bar. When it cannot be read, says so in one line, returns the
 * exit code and leaves *ret_snapshot NULL; when a part of it can, says that in one line and returns 0.
 */
int gmt_input_load(const char *path, struct gmt_snapshot **ret_snapshot);

/* The whole of a small file of text, to be given to free(); NULL, with errno. */
char *gmt_input_read_text(const char *path);

#endif
