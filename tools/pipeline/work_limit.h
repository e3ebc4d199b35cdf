/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_WORK_LIMIT_H
#define GMT_TOOLS_PIPELINE_WORK_LIMIT_H

/* The option, the messages and the exit code for the budget of work and output (base/budget.h). */

#include <stdbool.h>

/*
 * Sets the limit from the value of --max-work: "none", or a factor of the default budget. Returns
 * false if `text` is not valid.
 */
bool gmt_work_limit_set(const char *text);

/*
 * Prints a warning for each part of the analysis of `path` that was left out, and resets the list.
 * Call it after each recording.
 */
void gmt_work_limit_report(const char *path);

/* Returns whether a part of the analysis of any recording was left out so far. */
bool gmt_work_limit_was_reached(void);

/* Returns the final exit code: `code`, or 4 if `code` is 0 or 1 and the limit was reached. */
int gmt_work_limit_exit_code(int code);

#endif
