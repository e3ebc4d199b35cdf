/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_IMPORT_FILE_H
#define GMT_TOOLS_IMPORT_IMPORT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct gmt_import_file_options {
	/* NULL: the name of the file, with the ending `.gmt.gz`, in the current folder */
	const char *output;
	bool force;   /* recordings and inputs may be replaced */
	uint64_t pid; /* of a report of Nsight Systems; 0: its only process */
};

/*
 * Makes a recording of a file of another tool. The content of the file decides how it is read. The
 * path `-` is standard input. Prints errors, and the name of the new file. Returns the exit code.
 */
int gmt_import_file(const char *path, const struct gmt_import_file_options *choice);

#endif
