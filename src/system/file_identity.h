/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_IDENTITY_H
#define GMT_SYSTEM_FILE_IDENTITY_H

/*
 * The identity of the file that a descriptor refers to. A host process may close all descriptors
 * that it does not know, e.g. to become a daemon. Then it closes ours too, and its next file may
 * get the same number. We must not write to that file, grow it or close it. No state; any thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_file_identity {
	uint64_t device;
	uint64_t inode;
};

/*
 * Returns the identity of the file that `fd` refers to now. Returns false, with errno, if `fd` is
 * not open.
 */
bool gmt_file_identity_of(int fd, struct gmt_file_identity *ret_identity);

/* Returns whether `fd` still refers to that file. */
bool gmt_file_identity_matches(int fd, const struct gmt_file_identity *identity);

/*
 * Returns whether `path`, relative to the folder `at` (or AT_FDCWD), names that file itself, not a
 * link to it.
 */
bool gmt_file_identity_is_at(int at, const char *path, const struct gmt_file_identity *identity);

/*
 * Returns whether `path` names a device itself, not a link to one. No useful file can be created
 * next to a device.
 */
bool gmt_file_is_device(const char *path);

/* Closes `fd` if it still refers to that file, and sets it to -1. */
void gmt_file_identity_close(int *fd, const struct gmt_file_identity *identity);

#endif
