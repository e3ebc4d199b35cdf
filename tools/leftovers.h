/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LEFTOVERS_H
#define GMT_TOOLS_LEFTOVERS_H

/*
 * The memory of recorders that were killed, and which file it belongs to. Looked for in
 * /dev/shm/gpumemtrace-UID, where UID owns the file, and beside the file. Only what its owner alone can have
 * written is believed.
 */

#include "wire/leftover_file.h"

/*
 * What the killed recorder of the snapshot at `path` left; NULL when there is nothing, or the process goes on.
 * The caller ends it with gmt_leftover_close.
 */
struct gmt_leftover *gmt_leftovers_find(const char *path);

/*
 * Calls `tell` with each leftover of this user's in shared memory and in the current folder. It takes it over and
 * ends it. The first exit code that was not 0.
 */
int gmt_leftovers_all(int (*tell)(void *context, struct gmt_leftover *leftover), void *context);

/* Why a leftover cannot be used, as words that end a sentence; NULL when it can. */
const char *gmt_leftovers_why_not(const struct gmt_leftover *leftover);

#endif
