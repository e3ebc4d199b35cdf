/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUN_CHILD_H
#define GMT_TOOLS_RECORDINGS_RUN_CHILD_H

enum { GMT_CHILD_OWN_FAILURE = 125, GMT_CHILD_NOT_EXECUTABLE = 126, GMT_CHILD_NOT_FOUND = 127 };

/*
 * Runs argv as a child in this process's environment and waits for it. Forwards signals that other
 * processes send to this process. The terminal sends its signals to the child directly. Returns the
 * child's exit code, 128 + the signal that ended it, or a GMT_CHILD_ code after an error message.
 * *ret_signal is that signal, or 0. After the child has ended, the same signals end this process,
 * except in the first 2 seconds.
 */
int gmt_child_run(char **argv, int *ret_signal);

#endif
