/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_NAMES_H
#define GMT_ANALYSIS_TABLES_NAMES_H

/* Long names made short enough for a line of text. */

#include <stddef.h>

#include "reader/load/snapshot.h"

/*
 * A C++ function without parameters, template arguments and return type, cut to `size` bytes:
 * "at::native::empty_cuda(c10::ArrayRef<long>, ...)" becomes "at::native::empty_cuda".
 */
void gmt_names_function(const char *function, char *ret_name, size_t size);

/*
 * A path as people say it: below the program's working directory without that, in a Python package
 * from the package on, else the last three parts. Points into `path`.
 */
const char *gmt_names_file(const struct gmt_snapshot *snapshot, const char *path);

#endif
