/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_REPLACEMENT_H
#define GMT_WRITER_REPLACEMENT_H

/*
 * A temporary file beside the recording's, which takes its place in one step once it is whole: who opens the
 * path finds the one or the other. It is called as the recording with ".fold" behind it, and locked as long
 * as its recorder lives (flock), so that others can tell what may be removed. Used by the writer's thread.
 *
 * Where the recording lies is asked anew each time: the program may have changed its folder, and the user
 * may have moved or removed the file, which is not put back then.
 */

#include <stdbool.h>
#include <stdint.h>

#include "system/file_identity.h"

enum { GMT_REPLACEMENT_PATH_BYTES = 4352 };

/* Zero-initialised: none. */
struct gmt_replacement {
	bool is_open;
	int fd;
	struct gmt_file_identity file;
	char path[GMT_REPLACEMENT_PATH_BYTES + 16];
};

/* Makes an empty one beside the file `of`, which `of_fd` means. False with a reason in ret_why. */
bool gmt_replacement_open(struct gmt_replacement *ret_beside, int of_fd, const struct gmt_file_identity *of, char *ret_why,
	uint32_t why_bytes);

/* Puts it in the place of the file `of`. False with a reason, nothing changed. The descriptor stays open. */
bool gmt_replacement_take_place(const struct gmt_replacement *beside, int of_fd, const struct gmt_file_identity *of,
	char *ret_why, uint32_t why_bytes);

/* Removes it, if it is there. */
void gmt_replacement_remove(struct gmt_replacement *beside);

/* Closes the descriptor and leaves the file: in the child of a fork, or when it has taken its place. */
void gmt_replacement_forget(struct gmt_replacement *beside);

/* Removes what recorders that are gone have left in the folder of the file `of`. */
void gmt_replacement_remove_orphans(int of_fd, const struct gmt_file_identity *of);

#endif
