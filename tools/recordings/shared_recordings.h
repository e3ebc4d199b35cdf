/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_SHARED_RECORDINGS_H

/*
 * The shared memory of recorders, of processes that live and of killed ones, and which file each belongs to. It lies in
 * /dev/shm/gpumemtrace-UID, where UID owns the file, or beside the file. Only a file of that user counts, and in /dev/shm only
 * in a folder that nobody else may write to. What stands in the memory is not believed: see recover.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/shared_recording_file.h"

/*
 * Returns what the killed recorder of the snapshot at `path` left; NULL when there is nothing. The caller ends it with
 * gmt_shared_recording_close. *ret_recording_pid: the process that still records to that file; 0: there is none that this machine knows
 * of. It may be NULL.
 */
struct gmt_shared_recording *gmt_shared_recordings_find(const char *path, uint32_t *ret_recording_pid);

/* The same for the snapshot that is open as `fd`, and has the absolute name `whole_path`. The position of `fd` moves. */
struct gmt_shared_recording *gmt_shared_recordings_find_open(int fd, const char *whole_path, uint32_t *ret_recording_pid);

/* Called with each memory, which it takes over. NULL: it cannot be read, as `error` says. False ends the search. */
typedef bool gmt_shared_recordings_see(void *context, struct gmt_shared_recording *shared_recording, const struct gmt_error *error);

/* Calls `see` with each memory of this user's in shared memory, then in the folder `beside` (NULL: none). */
void gmt_shared_recordings_each(const char *beside, gmt_shared_recordings_see *see, void *context);

/* Whether the snapshot that is open as `fd` is one of the recording that `leftover` is the memory of. The position moves. */
bool gmt_shared_recordings_is_of(const struct gmt_shared_recording *shared_recording, int fd);

/* Writes the name of the run that recorded the snapshot at `path`, "" for none; false when the file does not say. */
bool gmt_shared_recordings_run_of(const char *path, char ret_run[GMT_IDENTIFIER_BYTES]);

/* Why a leftover cannot be used, as words that end a sentence; NULL when it can. */
const char *gmt_shared_recordings_why_not(const struct gmt_shared_recording *shared_recording);

/* Removes the memory itself, if the name still means it. False, with errno. */
bool gmt_shared_recordings_remove(const struct gmt_shared_recording *shared_recording);

#endif
