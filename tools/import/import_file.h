/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_IMPORT_FILE_H
#define GMT_TOOLS_IMPORT_IMPORT_FILE_H

#include <stdbool.h>

/*
 * Makes a recording of a file of another tool. The content of the file decides how it is read.
 * `output` NULL: the recording gets the name of the file, with the ending `.gmt.gz`, in the current
 * folder. The path `-` is standard input. Prints errors, and the name of the new file. Returns the
 * exit code.
 */
int gmt_import_file(const char *path, const char *output, bool force);

#endif
