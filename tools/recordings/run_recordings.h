/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H

/*
 * The recordings of one `gpumemtrace run`: of the program and of all processes that the program
 * started. The recorder reads the run's random name from the environment (GPUMEMTRACE_RUN), and
 * stores the name in each file and in its shared memory.
 */

#include <glob.h>
#include <stdbool.h>

#include "base/uuid.h"

struct gmt_run_recordings {
	char name[GMT_UUID_BYTES]; /* "": the kernel gave no random name */
	char *pattern; /* pattern of the file names, for glob(3) */
	glob_t before; /* files that existed before the program started */
	glob_t after;  /* files after the program's end; the first `count` belong to this run */
	size_t count;
	/* After the program's end: why a process of the run recorded nothing. "": not known. */
	char no_recording_reason[1024];
};

/*
 * Chooses the run's random name and puts it into the environment. Lists the files that exist. Call
 * it before the program starts. `pattern` is borrowed.
 */
void gmt_run_recordings_begin(struct gmt_run_recordings *ret_run, char *pattern);

/*
 * Completes the files of killed processes and finds the run's files. Call it after the program's
 * end. With `is_quiet`, prints only failures. `was_killed`: a signal ended the program. Its
 * children may end a moment later, so waits up to 2 s for their end.
 */
void gmt_run_recordings_finish(struct gmt_run_recordings *run, bool was_killed, bool is_quiet);

void gmt_run_recordings_fini(struct gmt_run_recordings *run);

#endif
