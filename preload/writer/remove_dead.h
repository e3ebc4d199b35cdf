/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_REMOVE_DEAD_H
#define GMT_WRITER_REMOVE_DEAD_H

/*
 * What killed recorders left behind is kept until it is recovered, but not without end: at most
 * GMT_SHARED_RECORDING_MAX of a folder, and GMT_SHARED_RECORDING_MAX_BYTES of its space together.
 */

enum { GMT_SHARED_RECORDING_MAX = 64, GMT_SHARED_RECORDING_MAX_BYTES = 256 << 20 };

/*
 * Removes what is of no use in `folder`, because it lacks its beginning, and what is too much: first those
 * whose recording is gone, then the oldest. Never what is in use, what is younger than a minute, or what is not this
 * user's. Once, when a recording begins; one thread.
 */
void gmt_shared_recordings_bound(const char *folder);

#endif
