/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_RUN_NOTE_H
#define GMT_WRITER_RUN_NOTE_H

/* What a process tells the `gpumemtrace run` that started it, by a small file in the runtime folder (system/runtime_folder.h). */

/*
 * Writes why this process records nothing to RUN.failed, where RUN is the run's name. The first process of a run that fails
 * writes it. Does nothing without a run. One thread; errno is kept.
 */
void gmt_run_note_failure(const char *why);

#endif
