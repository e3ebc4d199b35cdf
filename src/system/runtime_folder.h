/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_RUNTIME_FOLDER_H
#define GMT_SYSTEM_RUNTIME_FOLDER_H

/*
 * Where recorders that run and those who ask them find each other: $XDG_RUNTIME_DIR/gpumemtrace, else
 * /dev/shm/gpumemtrace-<user id>. Both are the user's alone: a folder of another owner, a link, or one that
 * others may enter is as good as none, because what lies in it could be somebody else's.
 */

#include <stdbool.h>
#include <stddef.h>

/* The places, in the order in which they are tried. */
enum gmt_runtime_place { GMT_RUNTIME_XDG, GMT_RUNTIME_SHM, GMT_RUNTIME_PLACES };

/* A file <run>.failed in there says why a process of that `gpumemtrace run` recorded nothing. */
#define GMT_RUNTIME_FAILED_SUFFIX ".failed"

/*
 * Writes the path of a place to ret_path; `make`: makes the folder when it is not there. `xdg` is the value
 * of XDG_RUNTIME_DIR, NULL when there is none. False when the place is not there, or not the user's alone.
 * No memory; any thread.
 */
bool gmt_runtime_folder(enum gmt_runtime_place place, const char *xdg, bool make, char *ret_path, size_t path_bytes);

/* Whether `path` is a folder, no link, of this user, that nobody else may enter. */
bool gmt_runtime_is_own(const char *path);

#endif
