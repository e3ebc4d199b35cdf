/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_PAGER_H
#define GMT_TOOLS_OUTPUT_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * If stdout is a terminal, starts a pager that shows the output, as git does: $GPUMEMTRACE_PAGER,
 * else $PAGER, else `less`. An empty command or `cat` means no pager. `less` ends at once if the
 * text fits on the screen (LESS=FRX, unless LESS is set).
 *
 * Call it just before the first output. From then on, Ctrl-C and SIGTERM end the program only after
 * the user has closed the pager, unless the signals are ignored. Messages to a terminal on stderr
 * appear after that too.
 */
void gmt_pager_begin(void);

/* Returns whether a pager runs: then only the pager may write to the terminal. */
bool gmt_pager_is_running(void);

/*
 * Same as fork(). In the child, Ctrl-C and SIGTERM have their default effect. If a pager runs, the
 * child does not keep the pager's input open, and does not write the held messages.
 */
pid_t gmt_pager_fork(void);

/*
 * Waits until the user has closed the pager. stdout must be closed. Does nothing without a pager.
 */
void gmt_pager_end(void);

#endif
