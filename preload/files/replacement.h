/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_REPLACEMENT_H
#define GMT_FILES_REPLACEMENT_H

/*
 * A temporary file next to the recording. When it is complete, it replaces the recording in one
 * atomic step: a process that opens the path gets either the old or the new file. The name of the
 * temporary file is the recording's name plus ".fold". Its recorder holds a lock on it (flock), so
 * other recorders do not remove it. Only the writer's thread uses these functions.
 *
 * Each function determines the path of the recording again, because the program may have changed
 * its folder, and the user may have moved or removed the file. If the recording was removed, the
 * functions fail.
 */

#include <stdbool.h>
#include <stdint.h>

#include "system/file_identity.h"

enum { GMT_REPLACEMENT_PATH_BYTES = 4352 };

/* Zero-initialised: no temporary file. */
struct gmt_replacement {
	bool is_open;
	int fd;
	struct gmt_file_identity file;
	char path[GMT_REPLACEMENT_PATH_BYTES + 16];
};

/*
 * Creates an empty temporary file next to the file `of`, whose descriptor is `of_fd`. Returns false
 * with a reason in ret_why.
 */
bool gmt_replacement_open(struct gmt_replacement *ret_replacement, int of_fd,
	const struct gmt_file_identity *of, char *ret_why, uint32_t why_bytes);

/*
 * Replaces the file `of` with the temporary file. On failure returns false with a reason and
 * changes nothing. The descriptor stays open.
 */
bool gmt_replacement_take_place(const struct gmt_replacement *replacement, int of_fd,
	const struct gmt_file_identity *of, char *ret_why, uint32_t why_bytes);

/* Removes the temporary file, if there is one. */
void gmt_replacement_remove(struct gmt_replacement *replacement);

/*
 * Closes the descriptor and keeps the file. For the child of a fork, and for a file that has
 * replaced the recording.
 */
void gmt_replacement_forget(struct gmt_replacement *replacement);

/* Removes the temporary files that dead recorders left in the folder of the file `of`. */
void gmt_replacement_remove_orphans(int of_fd, const struct gmt_file_identity *of);

#endif
