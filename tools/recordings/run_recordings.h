/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H

/*
 * The recordings of one `gpumemtrace run`: of the program and of all processes that it started. The
 * recorder finds the run's random name in the environment (GPUMEMTRACE_RUN) and stores it in each
 * file and in its shared memory.
 */

#include <glob.h>
#include <stdbool.h>

#include "base/uuid.h"

struct gmt_run_recordings {
	char name[GMT_UUID_BYTES]; /* "": the kernel gave no random name */
	char *pattern; /* pattern of the file names, for glob(3) */
	glob_t before; /* files that existed before the program started */
	glob_t after;  /* files after the program's end; the first `count` are files of this run */
	size_t count;
	/* after the end: why a process of the run recorded nothing; "": no reason was reported */
	char no_recording_reason[1024];
};

/*
 * Names the run, also in the environment. Call it before the program starts. `pattern` is borrowed.
 */
void gmt_run_recordings_begin(struct gmt_run_recordings *ret_run, char *pattern);

/*
 * Completes the files of killed processes and finds the run's files. Call it after the program's
 * end. With `is_quiet`, prints only failures. `was_killed`: a signal ended the program, so its
 * children may be about to end too. Then waits for them for at most 2 s.
 */
void gmt_run_recordings_finish(struct gmt_run_recordings *run, bool was_killed, bool is_quiet);

void gmt_run_recordings_fini(struct gmt_run_recordings *run);

#endif
