/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_IMPORT_FILE_H
#define GMT_TOOLS_IMPORT_IMPORT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct gmt_import_file_options {
	const char *output; /* NULL: the name of the file with .gmt.gz, in the current folder */
	bool force;   /* the output may replace a recording or the input */
	uint64_t pid; /* process in a report of Nsight Systems; 0: the only process with memory */
};

/*
 * Makes a recording from the file of another tool. The content of the file determines its format.
 * The path `-` is standard input. Prints the name of the new file, or an error. Returns the exit
 * code.
 */
int gmt_import_file(const char *path, const struct gmt_import_file_options *options);

#endif
