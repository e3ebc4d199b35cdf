/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_TEMPORARY_H
#define GMT_TOOLS_OUTPUT_OUTPUT_TEMPORARY_H

/*
 * Temporary files that are removed when the program ends before they got their names: by exit or by any signal
 * that can be caught. One thread.
 */

#include <stdbool.h>
#include <sys/types.h>

struct gmt_output_temporary {
	char *path; /* from malloc; NULL: there is none */
	int fd;     /* open for reading and writing */
};

/*
 * Creates "TARGET.unfinished-PID" beside `target`, with a number behind it when the name is taken. `mode` as open()
 * takes it. False, with errno.
 */
bool gmt_output_temporary_create(const char *target, mode_t mode, struct gmt_output_temporary *ret_temporary);

/* Closes and removes the file. There may be none. */
void gmt_output_temporary_remove(struct gmt_output_temporary *temporary);

/* Gives the file the name `target` and closes it. False, with errno; then the file is still there. */
bool gmt_output_temporary_rename(struct gmt_output_temporary *temporary, const char *target);

#endif
