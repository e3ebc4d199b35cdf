/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECORDER_VERSION_H
#define GMT_TOOLS_RECORDINGS_RECORDER_VERSION_H

#include <stdbool.h>

enum { GMT_RECORDER_VERSION_BYTES = 32 };

/*
 * Returns whether the recorder in file `path` has another version than this program, for example
 * after half an update. Then `ret_version` has its version. Returns false if the file cannot be
 * read or contains no version.
 */
bool gmt_recorder_version_differs(const char *path, char ret_version[GMT_RECORDER_VERSION_BYTES]);

#endif
