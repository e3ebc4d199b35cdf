/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_REPLACEMENT_H
#define GMT_FILES_REPLACEMENT_H

/*
 * A temporary file next to the recording. When it is complete, it replaces the recording in one
 * atomic step. A process that opens the path gets either the old or the new file. Its name is the
 * recording's name plus ".fold". Its recorder holds a lock on it (flock) as long as it lives, so
 * other recorders know which files they may remove. Used by the writer's thread.
 *
 * Each function determines the path of the recording again. The program may have changed its
 * folder, and the user may have moved or removed the file. A removed file is not restored.
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
 * Closes the descriptor and leaves the file. Called in the child of a fork, or after the file has
 * replaced the recording.
 */
void gmt_replacement_forget(struct gmt_replacement *replacement);

/* Removes the temporary files of dead recorders from the folder of the file `of`. */
void gmt_replacement_remove_orphans(int of_fd, const struct gmt_file_identity *of);

#endif
