/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_SHORT_NAMES_H
#define GMT_ANALYSIS_TABLES_SHORT_NAMES_H

/* Shortens names for a line of text. */

#include <stddef.h>

#include "reader/load/recording.h"

/*
 * Writes a C++ function without parameters, template arguments and return type. The result has at
 * most `size` bytes. Example: "at::native::empty_cuda(c10::ArrayRef<long>, ...)" becomes
 * "at::native::empty_cuda".
 */
void gmt_short_name_of_function(const char *function, char *ret_name, size_t size);

/*
 * Returns a short form of a path. Below the program's working directory, it is the relative path.
 * In a Python package, it begins with the package. Otherwise it is the last three parts. Points
 * into `path`.
 */
const char *gmt_short_name_of_file(const struct gmt_recording *recording, const char *path);

#endif
