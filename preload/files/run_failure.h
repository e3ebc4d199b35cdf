/* SPDX-License-Identifier: MIT */
#ifndef GMT_FILES_RUN_FAILURE_H
#define GMT_FILES_RUN_FAILURE_H

/*
 * Writes the reason why this process records nothing, for the `gpumemtrace run` that started it: to
 * the file RUN.failed in the runtime folder (system/runtime_folder.h). RUN is the name of the run.
 * Only the first failing process of a run writes the file. Does nothing if `gpumemtrace run` did
 * not start the process. One thread. Keeps errno.
 */
void gmt_run_failure_write(const char *why);

#endif
