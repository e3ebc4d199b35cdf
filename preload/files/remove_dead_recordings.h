/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_REMOVE_DEAD_RECORDINGS_H
#define GMT_FILES_REMOVE_DEAD_RECORDINGS_H

/*
 * Removes shared-memory recordings of killed recorders. They stay until the user recovers them, but
 * a folder keeps at most GMT_SHARED_RECORDING_MAX of these files, with at most
 * GMT_SHARED_RECORDING_MAX_BYTES of disk space in total.
 */

enum { GMT_SHARED_RECORDING_MAX = 64, GMT_SHARED_RECORDING_MAX_BYTES = 256 << 20 };

/*
 * Removes the files without a header from `folder`, because they cannot be recovered. Then removes
 * files until both limits are met: first files whose recording on disk no longer exists, then the
 * oldest. Never removes a file that is in use, is younger than one minute, or belongs to another
 * user. Called once, when a recording begins. One thread.
 */
void gmt_remove_dead_recordings(const char *folder);

#endif
