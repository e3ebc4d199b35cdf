/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_IDENTITY_H
#define GMT_SYSTEM_FILE_IDENTITY_H

/*
 * Which file a descriptor means. A host that closes all descriptors that it does not know (to become a
 * daemon, say) closes ours too, and the next file that it opens may get the number: that one is not ours
 * to write to, to grow or to close. No state; any thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_file_identity {
	uint64_t device;
	uint64_t number;
};

/* What `fd` means now; false, with errno, when it is not open. */
bool gmt_file_identity_of(int fd, struct gmt_file_identity *ret_identity);

/* Whether `fd` still means that file. */
bool gmt_file_identity_holds(int fd, const struct gmt_file_identity *identity);

/* Whether `path`, relative to the folder `at` (or AT_FDCWD), names that file itself, not a link to it. */
bool gmt_file_identity_is_at(int at, const char *path, const struct gmt_file_identity *identity);

/* Whether `path` names a device itself, not a link to one: nothing can be written beside it that anybody wants. */
bool gmt_file_is_device(const char *path);

/* Closes `fd` if it still means that file, and sets it to -1. */
void gmt_file_identity_close(int *fd, const struct gmt_file_identity *identity);

#endif
