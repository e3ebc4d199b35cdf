/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_PAGER_H
#define GMT_TOOLS_OUTPUT_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Shows what is written to stdout in a pager, if stdout is a terminal, as git does:
 * $GPUMEMTRACE_PAGER, else $PAGER, else `less`. An empty command or `cat` means none. `less` ends
 * at once if the text fits on the screen (LESS=FRX, unless LESS is set).
 *
 * Call it just before the first output. From then on, Ctrl-C and SIGTERM end the program when the
 * user has closed the pager, unless they are ignored. Messages for a terminal on stderr wait until
 * then too.
 */
void gmt_pager_begin(void);

/* Returns whether a pager was started: then nothing else may write to the terminal. */
bool gmt_pager_is_running(void);

/*
 * Same as fork(). In the child, Ctrl-C and SIGTERM have their default effect. If there is a pager,
 * the child does not hold its input open, and never writes the messages that wait.
 */
pid_t gmt_pager_fork(void);

/*
 * Waits until the user has closed the pager. stdout must be closed. Does nothing without a pager.
 */
void gmt_pager_end(void);

#endif
