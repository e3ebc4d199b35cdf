/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUN_CHILD_H
#define GMT_TOOLS_RECORDINGS_RUN_CHILD_H

enum { GMT_CHILD_OWN_FAILURE = 125, GMT_CHILD_NOT_EXECUTABLE = 126, GMT_CHILD_NOT_FOUND = 127 };

/*
 * Runs argv as a child in this process's environment and waits for its end. Forwards signals that
 * other processes send to this process. The terminal sends its signals to the child directly.
 * Returns the child's exit code, 128 + the signal that ended the child, or a GMT_CHILD_ code after
 * an error message. *ret_signal is the signal that ended the child, or 0. From 2 seconds after the
 * child's end on, these signals end this process.
 */
int gmt_child_run(char **argv, int *ret_signal);

#endif
