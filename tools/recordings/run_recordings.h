/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H
#define GMT_TOOLS_RECORDINGS_RUN_RECORDINGS_H

/*
 * The recordings of one `gpumemtrace run`: of the program, and of all processes that it started. Each has the run's random name
 * in its file and in its shared memory, for the recorder finds that name in the environment (GPUMEMTRACE_RUN).
 */

#include <glob.h>
#include <stdbool.h>

#include "base/identifier.h"

struct gmt_run {
	char name[GMT_IDENTIFIER_BYTES]; /* "" where the kernel gave none */
	char *pattern; /* of the files' names, for glob(3) */
	glob_t before; /* what was there before the program started */
	glob_t after;  /* once it has ended: the first `count` are this run's files */
	size_t count;
	char why_nothing[1024]; /* once it has ended: why a process of the run recorded nothing; "": no process said so */
};

/* Before the program starts: gives the run its name, in the environment too. `pattern` is borrowed. */
void gmt_run_begin(struct gmt_run *ret_run, char *pattern);

/*
 * After the program has ended: completes the files of processes that were killed, and finds the run's files. With `is_quiet` only
 * failures are said. `was_killed`: a signal ended the program, so its children may be about to end too; waits for them at most 2 s.
 */
void gmt_run_finish(struct gmt_run *run, bool was_killed, bool is_quiet);

void gmt_run_fini(struct gmt_run *run);

#endif
