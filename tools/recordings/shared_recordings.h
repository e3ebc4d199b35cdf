/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H

/*
 * Shared-memory recordings of live and of killed processes, and the files that they belong to. They
 * lie in /dev/shm/gpumemtrace-UID, where UID owns the recording's file, or next to that file. Only
 * a file of that user is used. In /dev/shm, it must lie in a folder that only that user may write
 * to. The content is not trusted: see recover.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/shared_recording_reader.h"

/*
 * Returns the shared-memory recording of the recording at `path` if its recorder was killed, or
 * NULL. The caller closes it with gmt_shared_recording_close. *ret_recording_pid is the process
 * that still records to the file; 0: this machine knows no such process. ret_recording_pid may be
 * NULL.
 */
struct gmt_shared_recording *gmt_shared_recordings_find(const char *path,
	uint32_t *ret_recording_pid);

/*
 * Same as gmt_shared_recordings_find, for the recording that is open as `fd` and has the absolute
 * name `whole_path`. Moves the position of `fd`.
 */
struct gmt_shared_recording *gmt_shared_recordings_find_open(int fd, const char *whole_path,
	uint32_t *ret_recording_pid);

/*
 * Called with each shared-memory recording; takes ownership of it. NULL: it cannot be read, for the
 * reason in `error`. Return false to end the search.
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
 * Returns whether the recording that is open as `fd` and `shared_recording` belong to the same
 * recording. Moves the position of `fd`.
 */
bool gmt_shared_recordings_is_of(const struct gmt_shared_recording *shared_recording, int fd);

/*
 * Writes the name of the run that recorded the recording at `path`; "": no run. Returns false if
 * the file does not say.
 */
bool gmt_shared_recordings_run_of(const char *path, char ret_run[GMT_UUID_BYTES]);

/*
 * Returns why a shared-memory recording cannot be used, as words that end a sentence, or NULL if it
 * can be used.
 */
const char *gmt_shared_recordings_unusable_reason(
	const struct gmt_shared_recording *shared_recording);

/*
 * Removes the shared memory if its name still refers to it. Returns false and sets errno on
 * failure.
 */
bool gmt_shared_recordings_remove(const struct gmt_shared_recording *shared_recording);

#endif
