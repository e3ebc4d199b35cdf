/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_RUNTIME_FOLDER_H
#define GMT_SYSTEM_RUNTIME_FOLDER_H

/*
 * The folder where the command line program finds running recorders: $XDG_RUNTIME_DIR/gpumemtrace,
 * else /dev/shm/gpumemtrace-<user id>. Both folders must be private to the user. A folder of
 * another owner, a link, or a folder that other users may enter is not used, because its content
 * could be someone else's.
 */

#include <stdbool.h>
#include <stddef.h>

/* The folders in the order in which they are tried. */
enum gmt_runtime_folder_kind { GMT_RUNTIME_XDG, GMT_RUNTIME_SHM, GMT_RUNTIME_FOLDERS };

/*
 * A file <run>.failed in the folder states why a process of that `gpumemtrace run` recorded
 * nothing.
 */
#define GMT_RUNTIME_FAILED_SUFFIX ".failed"

/*
 * Writes the path of a folder to ret_path. If `make` is true, creates a missing folder. `xdg` is
 * the value of XDG_RUNTIME_DIR, or NULL if it is not set. Returns false if the folder does not
 * exist, or is not private to the user. Allocates no memory; any thread.
 */
bool gmt_runtime_folder(enum gmt_runtime_folder_kind kind, const char *xdg, bool make,
	char *ret_path, size_t path_bytes);

/* Returns whether `path` is a folder of this user, not a link, that no other user may enter. */
bool gmt_runtime_folder_is_private(const char *path);

#endif
