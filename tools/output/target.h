/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_TARGET_H
#define GMT_TOOLS_OUTPUT_TARGET_H

/*
 * A file that may be replaced by a completed one, and how it is replaced. The folder and the file stay open, so that whatever
 * others do to names meanwhile, no other file is touched.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/file_identity.h"

enum { GMT_TARGET_WHY_BYTES = 512 };

struct gmt_target {
	int folder;
	int fd;             /* the file; -1: it is not there */
	struct gmt_file_identity file;
	char name[NAME_MAX + 1];         /* in the folder */
	char path[PATH_MAX + NAME_MAX + 2]; /* absolute; for messages, and to compare names */
};

enum gmt_target_state {
	GMT_TARGET_IS_THERE,
	GMT_TARGET_IS_GONE,    /* the folder may be gone too; then `folder` is -1 */
	GMT_TARGET_IS_REFUSED, /* ret_why says why, as words that end a sentence */
};

/* Opens the file that the user named. Links mean what they mean to any other program. End with gmt_target_close. */
enum gmt_target_state gmt_target_open_named(const char *path, struct gmt_target *ret_target, char ret_why[GMT_TARGET_WHY_BYTES]);

/*
 * Opens a file by a name that stood in shared memory. Refuses links, folders on the way that somebody else than the caller and
 * root may write to (folders like /tmp, where nobody may touch files of others, are fine), and files with several names.
 */
enum gmt_target_state gmt_target_open_told(const char *path, struct gmt_target *ret_target, char ret_why[GMT_TARGET_WHY_BYTES]);

/* Whether it is a file of the caller's own; else false, with why. */
bool gmt_target_is_own(const struct gmt_target *target, char ret_why[GMT_TARGET_WHY_BYTES]);

/*
 * Opens the folder of a new file of the name `path`, to be written by gmt_target_begin. Refuses what is there already, unless it
 * is a plain file, and no recording or `force`.
 */
enum gmt_target_state gmt_target_open_new(const char *path, bool force, struct gmt_target *ret_target, char ret_why[GMT_TARGET_WHY_BYTES]);

/* A file that is not visible yet, or has a name that begins with a dot. */
struct gmt_target_new {
	int fd;
	char name[64]; /* "": it has none */
};

/* Begins what is to take the target's place, with the rights of the file `like` (-1: for the caller alone). False, with errno. */
bool gmt_target_begin(const struct gmt_target *target, int like, struct gmt_target_new *ret_new);

/*
 * Puts the new file in place of the target, in one step. When another file has got the target's name meanwhile, that file
 * stays, the new one is removed, and errno is EEXIST. False, with errno.
 */
bool gmt_target_replace(const struct gmt_target *target, struct gmt_target_new *new);

/* Removes the new file, unless it was put in place, and closes it. */
void gmt_target_end(const struct gmt_target *target, struct gmt_target_new *new);

/* Closes a target in any of the states. */
void gmt_target_close(struct gmt_target *target);

#endif
