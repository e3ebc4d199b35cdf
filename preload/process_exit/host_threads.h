/* SPDX-License-Identifier: MIT */
#ifndef GMT_PROCESS_EXIT_HOST_THREADS_H
#define GMT_PROCESS_EXIT_HOST_THREADS_H

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
void gmt_host_threads_init(void);

enum gmt_host_threads_end {
	GMT_HOST_THREADS_RUN, /* a thread of the host is left */
	GMT_HOST_THREADS_ENDED,
	GMT_HOST_THREADS_UNKNOWN, /* /proc cannot be read */
};

/*
 * Returns whether all threads of the host have ended. `recorder_threads` is the number of the
 * recorder's threads, including the writer's. Makes a few system calls.
 */
enum gmt_host_threads_end gmt_host_threads_have_ended(unsigned recorder_threads);

/*
 * Returns whether the process has only one thread. Returns true if /proc cannot be read. Makes one
 * system call. Any thread.
 */
bool gmt_host_threads_is_single(void);

/*
 * Returns the exit code that the process would have without the recorder. Call it after
 * gmt_host_threads_have_ended has returned GMT_HOST_THREADS_ENDED. Since Linux 6.1, the process has
 * the code of its last thread; before, the main thread's code. The kernel reports the code of an
 * ended thread since Linux 6.15. On older kernels the function returns the main thread's code.
 */
int gmt_host_threads_exit_code(void);

/* Discards the parent's state. Called in the child of a fork. */
void gmt_host_threads_forget(void);

#endif
