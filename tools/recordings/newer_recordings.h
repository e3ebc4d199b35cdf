/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * For each of the `count` files in `paths`, prints a hint if there are newer recordings of the same
 * name. If a name is taken, the recorder adds a number: train.1.gmt.gz next to train.gmt.gz. Prints
 * no hint if `paths` also has the newest recording. Reads no file, only names and times.
 */
void gmt_newer_recordings_report(char *const *paths, size_t count);

/* Returns whether file `a` was modified after file `b`. */
bool gmt_recording_changed_later(const struct stat *a, const struct stat *b);

#endif
