/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_OWNER_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_OWNER_H

/*
 * The owner of a shared recording, and whether the owner still uses it. Used by the recorder, which
 * must not remove memory in use, and by recovery. No heap memory; any thread.
 */

#include <stdbool.h>

#include "shared_memory/shared_recording_layout.h"

/* Fills in the system's data about this process. The caller fills in the file and the recording. */
void gmt_shared_recording_owner_init(struct gmt_shared_recording_owner *ret_owner);

/*
 * Returns whether `owner` still uses the memory in the file `fd`. Process ids are reused, and ids
 * of another container mean nothing here. So a process matches only if its start time matches too.
 * In another container, the lock decides. A process that has called exec no longer uses the memory.
 */
bool gmt_shared_recording_is_used(int fd, const struct gmt_shared_recording_owner *owner);

/* Returns whether the file that `owner` writes is still in its place. */
bool gmt_shared_recording_has_file(const struct gmt_shared_recording_owner *owner);

/* Returns whether this is the machine on which `owner` ran, without a restart since then. */
bool gmt_shared_recording_is_of_this_boot(const struct gmt_shared_recording_owner *owner);

#endif
