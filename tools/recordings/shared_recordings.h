/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H

/*
 * Finds shared-memory recordings of live and of killed processes, and the recordings that they
 * belong to. A shared-memory recording lies in /dev/shm/gpumemtrace-UID, where UID owns the
 * recording's file, or next to that file. It must belong to that user. The folder in /dev/shm must
 * be writable only for that user. The content is not trusted: see recover.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/shared_recording_reader.h"

/*
 * Returns the shared-memory recording of the recording at `path` if its recorder was killed, or
 * NULL. The caller closes the result with gmt_shared_recording_close. *ret_recording_pid is the
 * process that still records to the file; 0: no such process is known. ret_recording_pid may be
 * NULL.
 */
struct gmt_shared_recording *gmt_shared_recordings_find(const char *path,
	uint32_t *ret_recording_pid);

/*
 * Same as gmt_shared_recordings_find, for the recording that is open as `fd` and has the absolute
 * path `whole_path`. Moves the position of `fd`.
 */
struct gmt_shared_recording *gmt_shared_recordings_find_open(int fd, const char *whole_path,
	uint32_t *ret_recording_pid);

/*
 * Gets each shared-memory recording, and owns it. `shared_recording` NULL: it cannot be read, for
 * the reason in `error`. Returns false to end the search.
 */
typedef bool gmt_shared_recordings_visit(void *context,
	struct gmt_shared_recording *shared_recording, const struct gmt_error *error);

/*
 * Calls `visit` with each shared-memory recording of this user in /dev/shm, then in the folder
 * `extra_folder` (NULL: no folder).
 */
void gmt_shared_recordings_each(const char *extra_folder, gmt_shared_recordings_visit *visit,
	void *context);

/*
 * Returns whether `shared_recording` belongs to the recording that is open as `fd`. Moves the
 * position of `fd`.
 */
bool gmt_shared_recordings_match(const struct gmt_shared_recording *shared_recording, int fd);

/*
 * Reads the name of the `gpumemtrace run` that made the recording at `path`; "": made without
 * `run`. Returns false if the file does not have its first record yet, or cannot be read.
 */
bool gmt_recording_read_run_name(const char *path, char ret_run[GMT_UUID_BYTES]);

/*
 * Returns why a shared-memory recording cannot be used, as the end of a sentence, or NULL if it can
 * be used.
 */
const char *gmt_shared_recordings_unusable_reason(
	const struct gmt_shared_recording *shared_recording);

/*
 * Removes the shared memory if its name still refers to it. Returns false and sets errno on
 * failure.
 */
bool gmt_shared_recordings_remove(const struct gmt_shared_recording *shared_recording);

#endif
