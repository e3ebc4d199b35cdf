/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_TEMPORARY_FILE_H
#define GMT_SYSTEM_TEMPORARY_FILE_H

#include <stddef.h>

/*
 * Creates a temporary file in $TMPDIR if that is set, else in /var/tmp, else in /tmp, and writes
 * its name to `ret_path` of `bytes` bytes. Returns a descriptor, which the caller closes; the
 * caller also removes the name. Returns -1 and sets errno if no folder allows it. Any thread.
 */
int gmt_temporary_file_create(char *ret_path, size_t bytes);

#endif
