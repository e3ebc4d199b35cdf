/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_TEXT_WITHOUT_CALLS_H
#define GMT_RUNTIME_TEXT_WITHOUT_CALLS_H

/* Compares names and paths, and calls no function. Any thread, any time. No state. */

#include <stdbool.h>

/*
 * Sanitizer runtimes call dlsym during their own initialization. At that time, no function that
 * they replace may be called, such as strcmp. The attribute prevents calls that the compiler
 * inserts.
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
