/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_TEMPORARY_H
#define GMT_TOOLS_OUTPUT_OUTPUT_TEMPORARY_H

/*
 * Temporary files that are removed if the program ends before they get their final names: by exit
 * or by a signal that can be caught. For one thread only.
 */

#include <stdbool.h>
#include <sys/types.h>

struct gmt_output_temporary {
	char *path; /* from malloc; NULL: no file */
	int fd;     /* open for reading and writing */
};

/*
 * Creates "TARGET.unfinished-PID" next to `target`, with a number appended if the name is taken.
 * `mode` is as for open(). Returns false and sets errno on failure.
 */
bool gmt_output_temporary_create(const char *target, mode_t mode,
	struct gmt_output_temporary *ret_temporary);

/* Closes and removes the file, if it exists. */
void gmt_output_temporary_remove(struct gmt_output_temporary *temporary);

/*
 * Renames the file to `target` and closes it. On failure, returns false and sets errno; the file
 * still exists.
 */
bool gmt_output_temporary_rename(struct gmt_output_temporary *temporary, const char *target);

#endif
