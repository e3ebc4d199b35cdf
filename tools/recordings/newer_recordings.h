/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Prints a hint if newer recordings exist next to a file of `paths`. The recorder adds a number if
 * a name is taken: train.1.gmt.gz next to train.gmt.gz. Prints nothing if the newest is also in
 * `paths`. Looks only at names and times, and at most at some thousand files.
 */
void gmt_newer_recordings_report(char *const *paths, size_t count);

/* Returns whether file `a` was changed after file `b`. */
bool gmt_newer_recordings_is_later(const struct stat *a, const struct stat *b);

#endif
