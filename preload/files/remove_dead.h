/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_REMOVE_DEAD_H
#define GMT_FILES_REMOVE_DEAD_H

/*
 * Limits the shared-memory recordings that killed recorders have left. The recorder keeps the files
 * until the user recovers them. But each folder keeps at most GMT_SHARED_RECORDING_MAX files, and
 * at most GMT_SHARED_RECORDING_MAX_BYTES of space in total.
 */

enum { GMT_SHARED_RECORDING_MAX = 64, GMT_SHARED_RECORDING_MAX_BYTES = 256 << 20 };

/*
 * Removes files from `folder` that are useless because their beginning is missing. Then removes
 * files until both limits are met: first those whose recording no longer exists, then the oldest.
 * Never removes a file that is in use, is younger than one minute, or belongs to another user.
 * Called once, when a recording begins. One thread.
 */
void gmt_remove_dead_recordings(const char *folder);

#endif
