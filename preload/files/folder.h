/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_FOLDER_H
#define GMT_FILES_FOLDER_H

/*
 * Folders that contain files of the recorder. Only the writer's thread uses these functions. They
 * do not allocate from the host's heap.
 */

#include <stdbool.h>

/*
 * Opens the folder `path`, so that the recorder can remove a file in it even after the host has
 * called chroot. Returns a descriptor, or -1 if the thread shares the host's descriptor table or
 * the folder cannot be opened.
 */
int gmt_folder_open(const char *path);

/* Closes the descriptor and sets it to -1. */
void gmt_folder_close(int *folder);

/*
 * Removes the file `path`, which is in the open folder. A negative `folder`: removes it by its
 * path.
 */
void gmt_folder_unlink(int folder, const char *path);

/*
 * Calls `visit` with the name of each file in a folder, until `visit` returns false. `folder` is a
 * descriptor that is open for reading.
 */
void gmt_folder_visit(int folder, bool (*visit)(void *user, int folder, const char *name),
	void *user);

#endif
