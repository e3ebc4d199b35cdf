/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_LOCK_H
#define GMT_SYSTEM_FILE_LOCK_H

/*
 * A lock that shows that the creator of a file still exists. The lock belongs to the open file
 * description, not to the process. It is held until the last descriptor of it is closed, at the
 * latest when the process ends in any way. Allocates no memory; any thread.
 */

#include <stdbool.h>

/*
 * Locks the file of `fd`, open for writing, without waiting. Returns false if another open file
 * description holds the lock, or if the file cannot be locked.
 */
bool gmt_file_lock(int fd);

/* Returns whether another open file description than that of `fd` holds the lock. */
bool gmt_file_is_locked(int fd);

#endif
