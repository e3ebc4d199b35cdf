/* SPDX-License-Identifier: MIT */
#ifndef GMT_THREADS_LAST_THREADS_H
#define GMT_THREADS_LAST_THREADS_H

/*
 * Detects that all threads of the host have ended and only the recorder's threads keep the process
 * alive. This happens if the main thread ends by pthread_exit or by the exit system call. Used by
 * the writer's thread.
 */

#include <stdbool.h>

/*
 * Opens /proc/self/task in the writer's descriptor table, so that a later chroot of the host
 * changes nothing.
 */
void gmt_last_threads_init(void);

/* The answer that /proc/self/task gives. */
enum gmt_last_threads { GMT_LAST_THREADS_NO, GMT_LAST_THREADS_YES, GMT_LAST_THREADS_UNKNOWN };

/*
 * Returns whether only `own` threads of the recorder are left. The writer's thread is included in
 * `own`. Makes a few system calls. Returns GMT_LAST_THREADS_UNKNOWN without /proc.
 */
enum gmt_last_threads gmt_last_threads_are(unsigned own);

/*
 * Returns whether the process has only one thread. Returns true if /proc cannot be read. Makes one
 * system call. Any thread.
 */
bool gmt_last_threads_has_one_thread(void);

/*
 * Returns the exit code that the process would have without the recorder. Call it after
 * gmt_last_threads_are has returned GMT_LAST_THREADS_YES. Since Linux 6.1 this is the code of the
 * last thread; before, it is the main thread's code. The kernel reports the code of an ended thread
 * since Linux 6.15. On older kernels the function returns the main thread's code.
 */
int gmt_last_threads_exit_code(void);

/* Discards the parent's state. Called in the child of a fork. */
void gmt_last_threads_forget(void);

#endif
