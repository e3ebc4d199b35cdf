/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_WORK_LIMIT_H
#define GMT_TOOLS_PIPELINE_WORK_LIMIT_H

/*
 * The user's side of the budget for work and output (base/budget.h): the option, the messages, the
 * exit code.
 */

#include <stdbool.h>

/*
 * Sets the limit from the value of --max-work: "none", or a factor of the default budget. Returns
 * false if `text` is invalid.
 */
bool gmt_work_limit(const char *text);

/*
 * Prints a warning for each part that was left out of the recording `path`, and resets the list.
 * Call it after each recording.
 */
void gmt_work_limit_report(const char *path);

/* Returns whether anything was left out of any recording so far. */
bool gmt_work_limit_was_reached(void);

/* Returns the final exit code: `code`, or 4 if `code` is 0 or 1 and something was left out. */
int gmt_work_limit_exit_code(int code);

#endif
