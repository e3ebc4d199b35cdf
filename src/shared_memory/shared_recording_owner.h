/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_OWNER_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_OWNER_H

/*
 * Whose memory a leftover is, and whether he still uses it. Used by the recorder, which must not throw away
 * what is in use, and by who recovers. No memory of the heap; any thread.
 */

#include <stdbool.h>

#include "shared_memory/shared_recording.h"

/* Fills in what the system says of this process; the file and the recording are the caller's to tell. */
void gmt_shared_recording_owner_init(struct gmt_shared_recording_owner *ret_owner);

/*
 * Whether `owner` still uses the memory whose file is `fd`. Numbers of processes are given again, and those of
 * another container mean nothing here: so a process counts only with the time at which it started, and
 * elsewhere the lock does. A process that became another program by exec has let go of it.
 */
bool gmt_shared_recording_is_used(int fd, const struct gmt_shared_recording_owner *owner);

/* Whether the file that `owner` writes is still where it was. */
bool gmt_shared_recording_has_file(const struct gmt_shared_recording_owner *owner);

/* Whether the machine is the one that `owner` ran on, and has not been started anew since. */
bool gmt_shared_recording_is_of_this_boot(const struct gmt_shared_recording_owner *owner);

#endif
