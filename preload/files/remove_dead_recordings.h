/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_REMOVE_DEAD_RECORDINGS_H
#define GMT_FILES_REMOVE_DEAD_RECORDINGS_H

/*
 * Limits how many shared-memory recordings of killed recorders a folder keeps. The files stay until
 * the user recovers them, except that each folder keeps at most GMT_SHARED_RECORDING_MAX files and
 * at most GMT_SHARED_RECORDING_MAX_BYTES of disk space in total.
 */

enum { GMT_SHARED_RECORDING_MAX = 64, GMT_SHARED_RECORDING_MAX_BYTES = 256 << 20 };

/*
 * Removes files from `folder` whose beginning is missing: nothing can be recovered from them. Then
 * removes files until both limits are met: first files whose recording (the file that they would be
 * recovered into) no longer exists, then the oldest.
 * Never removes a file that is in use, is younger than one minute, or belongs to another user.
 * Called once, when a recording begins. One thread.
 */
void gmt_remove_dead_recordings(const char *folder);

#endif
