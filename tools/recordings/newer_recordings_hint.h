/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_HINT_H
#define GMT_TOOLS_RECORDINGS_NEWER_RECORDINGS_HINT_H

#include <stddef.h>

/*
 * Prints a hint for each of the `count` files in `paths` that has newer recordings of the same
 * name: if a name is taken, the recorder adds a number (train.1.gmt.gz next to train.gmt.gz).
 * Prints no hint if `paths` also has the newest recording. Reads only names and times, no contents.
 */
void gmt_newer_recordings_hint(char *const *paths, size_t count);

#endif
