/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CALL_FREE_TEXT_H
#define GMT_RUNTIME_CALL_FREE_TEXT_H

/* Compares names and paths without a call of any function. Any thread, any time. No state. */

#include <stdbool.h>

/*
 * Sanitizer runtimes call dlsym during their own initialization. At that time, their functions must
 * not be called, for example strcmp. Code on that path compares text with these functions, which
 * make no calls.
 */
#define GMT_NO_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns")))

bool gmt_same_text(const char *a, const char *b);

/* Returns the last component of `path`. */
const char *gmt_path_name(const char *path);

/*
 * Returns whether the last component of `path` begins with `prefix`: "libcuda.so", "libcudart.so".
 */
bool gmt_path_name_begins_with(const char *path, const char *prefix);

#endif
