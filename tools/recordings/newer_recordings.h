/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H

#include <stddef.h>

/*
 * Prints a hint if newer recordings exist next to a file of `paths`. The recorder adds a number if
 * a name is taken: train.1.gmt.gz next to train.gmt.gz. Prints nothing if the newest is also in
 * `paths`. Looks only at names and times, and at most at some thousand files.
 */
void gmt_newer_report(char *const *paths, size_t count);

#endif
