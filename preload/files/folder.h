/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_FOLDER_H
#define GMT_FILES_FOLDER_H

/*
 * Folders that contain files of the recorder. Used by the writer's thread. Does not allocate from
 * the host's heap.
 */

#include <stdbool.h>

/*
 * Opens the folder `path`, so that a file in it can be removed even after the host has called
 * chroot. Returns a descriptor. Returns -1 if the thread shares the host's descriptor table or if
 * the folder cannot be opened.
 */
int gmt_folder_open(const char *path);

void gmt_folder_close(int *folder);

/*
 * Removes the file `path`, which lies in the kept folder. If `folder` is negative, removes the file
 * by its path.
 */
void gmt_folder_unlink(int folder, const char *path);

/*
 * Calls `look` with the name of each file in a folder, until `look` returns false. `folder` is a
 * descriptor that is open for reading.
 */
void gmt_folder_visit(int folder, bool (*look)(void *user, int folder, const char *name),
	void *user);

#endif
