/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_TARGET_H
#define GMT_TOOLS_OUTPUT_TARGET_H

/*
 * A file that a completed file may replace, and how it is replaced. The folder and the file stay
 * open, so that no other file is affected if other processes rename files meanwhile.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "system/file_identity.h"

enum { GMT_TARGET_WHY_BYTES = 512 };

struct gmt_target {
	int folder;
	int fd;             /* the file; -1: it does not exist */
	struct gmt_file_identity file;
	char name[NAME_MAX + 1];         /* name in the folder */
	char path[PATH_MAX + NAME_MAX + 2]; /* absolute; for messages and to compare names */
};

enum gmt_target_state {
	GMT_TARGET_IS_THERE,
	GMT_TARGET_IS_GONE,    /* the folder may be gone too; then `folder` is -1 */
	GMT_TARGET_IS_REFUSED, /* ret_why has the reason, as words that end a sentence */
};

/*
 * Opens the file that the user named. Follows links as other programs do. End with
 * gmt_target_close.
 */
enum gmt_target_state gmt_target_open_named(const char *path, struct gmt_target *ret_target,
	char ret_why[GMT_TARGET_WHY_BYTES]);

/*
 * Opens a file by a name from shared memory, which is not trusted. Refuses links and files with
 * several names. Refuses folders on the way that users other than the caller and root may write to.
 * Folders like /tmp, where users cannot remove files of other users, are allowed.
 */
enum gmt_target_state gmt_target_open_untrusted(const char *path, struct gmt_target *ret_target,
	char ret_why[GMT_TARGET_WHY_BYTES]);

/* Returns whether the file belongs to the caller. If not, ret_why has the reason. */
bool gmt_target_is_own(const struct gmt_target *target, char ret_why[GMT_TARGET_WHY_BYTES]);

/*
 * Opens the folder of a new file with the name `path`, which gmt_target_begin writes. Refuses an
 * existing target unless it is a plain file. Refuses a recording unless `force` is set.
 */
enum gmt_target_state gmt_target_open_new(const char *path, bool force,
	struct gmt_target *ret_target, char ret_why[GMT_TARGET_WHY_BYTES]);

/* A new file that has no name yet, or a name that begins with a dot. */
struct gmt_target_new {
	int fd;
	char name[64]; /* "": no name */
};

/*
 * Begins the file that will replace the target, with the rights of the file `like` (-1: only for
 * the caller). Returns false and sets errno on failure.
 */
bool gmt_target_begin(const struct gmt_target *target, int like, struct gmt_target_new *ret_new);

/*
 * Replaces the target with the new file, in one step. If another file has taken the target's name
 * meanwhile, that file stays, the new file is removed, and errno is EEXIST. Returns false and sets
 * errno on failure.
 */
bool gmt_target_replace(const struct gmt_target *target, struct gmt_target_new *new);

/* Removes the new file, unless it replaced the target, and closes it. */
void gmt_target_end(const struct gmt_target *target, struct gmt_target_new *new);

/* Closes a target in any of the states. */
void gmt_target_close(struct gmt_target *target);

#endif
