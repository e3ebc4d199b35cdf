/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_WORK_H
#define GMT_TOOLS_PIPELINE_WORK_H

/* The user's side of the budget for work and output (base/budget.h): the option, the lines, the exit code. */

#include <stdbool.h>

/* Takes the value of --max-work: "none", or how many times the usual budget. False: `text` is neither. */
bool gmt_work_limit(const char *text);

/* Says in one line each what was left out of the recording `path`, and forgets it. Call it when a recording is done. */
void gmt_work_report(const char *path);

/* Whether anything was left out so far, of any recording. */
bool gmt_work_was_cut(void);

/* The exit code of the whole: `code`, or 4 where it is 0 or 1 and something was left out. */
int gmt_work_exit_code(int code);

#endif
