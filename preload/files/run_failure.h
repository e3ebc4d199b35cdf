/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_RUN_FAILURE_H
#define GMT_FILES_RUN_FAILURE_H

/*
 * A message from a process to the `gpumemtrace run` that started it: a small file in the runtime
 * folder (system/runtime_folder.h).
 */

/*
 * Writes the reason why this process records nothing to the file RUN.failed, where RUN is the name
 * of the run. Only the first process of a run that fails writes the file. Does nothing if
 * `gpumemtrace run` did not start the process. One thread. Keeps errno.
 */
void gmt_run_failure_write(const char *why);

#endif
