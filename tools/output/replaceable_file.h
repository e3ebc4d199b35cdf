/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_REPLACEABLE_FILE_H
#define GMT_TOOLS_OUTPUT_REPLACEABLE_FILE_H

/*
 * A file that a completed file may replace, and its replacement. The folder and the file stay open,
 * so that no other file is affected if other processes rename files meanwhile.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "system/file_identity.h"

enum { GMT_REPLACEABLE_FILE_WHY_BYTES = 512 };

struct gmt_replaceable_file {
	int folder;
	int fd;             /* the file; -1: it does not exist */
	struct gmt_file_identity identity;
	char name[NAME_MAX + 1];         /* name in the folder */
	char path[PATH_MAX + NAME_MAX + 2]; /* absolute; for messages and to compare names */
};

enum gmt_replaceable_file_state {
	GMT_REPLACEABLE_FILE_EXISTS,
	GMT_REPLACEABLE_FILE_IS_GONE,    /* the folder may be gone too; then `folder` is -1 */
	GMT_REPLACEABLE_FILE_IS_REFUSED, /* ret_why has the reason, as the end of a sentence */
};

/*
 * Opens the file that the user named. Follows links. The caller ends `ret_file` with
 * gmt_replaceable_file_close, also after a failure.
 */
enum gmt_replaceable_file_state gmt_replaceable_file_open_named(const char *path,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES]);

/*
 * Opens a file by a path from shared memory, which is not trusted. Refuses links and files with
 * several names. Refuses a path with a folder in which users other than the caller and root may
 * write. Accepts folders like /tmp, where users cannot remove files of other users.
 */
enum gmt_replaceable_file_state gmt_replaceable_file_open_untrusted(const char *path,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES]);

/* Returns whether the file belongs to the caller. If not, ret_why has the reason. */
bool gmt_replaceable_file_is_own(const struct gmt_replaceable_file *file,
	char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES]);

/*
 * Opens the folder of a new file `path`, which gmt_replacement_begin then creates. Refuses an
 * existing target that is not a regular file. Refuses a recording unless `force` is set.
 */
enum gmt_replaceable_file_state gmt_replaceable_file_open_new(const char *path, bool force,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES]);

/* A new file that has no name yet, or a name that begins with a dot. */
struct gmt_replacement {
	int fd;
	char name[64]; /* "": no name */
};

/*
 * Creates the file that will replace the target, with the permissions of the file `like` (-1: only
 * for the caller). Returns false and sets errno on failure.
 */
bool gmt_replacement_begin(const struct gmt_replaceable_file *file, int like,
	struct gmt_replacement *ret_replacement);

/*
 * Replaces the target with the new file, in one step. If another file has taken the target's name
 * meanwhile, that file stays, the new file is removed, and errno is EEXIST. Returns false and sets
 * errno on failure.
 */
bool gmt_replacement_commit(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement);

/* Removes the new file, unless it replaced the target, and closes it. */
void gmt_replacement_end(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement);

/* Closes a file in any state. */
void gmt_replaceable_file_close(struct gmt_replaceable_file *file);

#endif
