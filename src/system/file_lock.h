/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_LOCK_H
#define GMT_SYSTEM_FILE_LOCK_H

/*
 * Says that whoever made a file is still there. The lock is of the opening, not of the process: it is held until
 * the last descriptor of it is closed, by the end of the process whatever its kind. No memory; any thread.
 */

#include <stdbool.h>

/* Locks the file of `fd`, open for writing, without waiting. False when another opening has it, or none can be had. */
bool gmt_file_lock(int fd);

/* Whether another opening than that of `fd` has it. */
bool gmt_file_is_locked(int fd);

#endif
