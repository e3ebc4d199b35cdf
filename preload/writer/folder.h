/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_FOLDER_H
#define GMT_WRITER_FOLDER_H

/*
 * Folders that the recorder has files in. For the writer's thread. No memory of the host's heap.
 */

#include <stdbool.h>

/*
 * Keeps a folder, so that a file in it can be removed when the host has called chroot meanwhile. Only in a descriptor table of our
 * own. Returns a descriptor, or -1.
 */
int gmt_folder_keep(const char *path);

void gmt_folder_let_go(int *folder);

/* Removes the file `path`, which lies in the kept folder; by its path where no folder is kept. */
void gmt_folder_unlink(int folder, const char *path);

/* Calls `look` with the name of each file in a folder, until it returns false. `folder` is a descriptor that can be read. */
void gmt_folder_visit(int folder, bool (*look)(void *user, int folder, const char *name), void *user);

#endif
