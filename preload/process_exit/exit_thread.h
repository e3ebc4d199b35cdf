/* SPDX-License-Identifier: MIT */
#ifndef GMT_PROCESS_EXIT_EXIT_THREAD_H
#define GMT_PROCESS_EXIT_EXIT_THREAD_H

/*
 * The exit thread calls exit(0) in place of the host's last thread. When the main thread has ended
 * by pthread_exit, libc lets the last thread of the process call exit(0), which runs the exit
 * handlers. With the recorder's threads in the process, no thread of the host is the last.
 *
 * The exit thread uses the host's descriptors. Events on it are recorded, so the recording has the
 * frees of exit handlers and destructors.
 */

#include <stdbool.h>

/*
 * Starts the thread, which then sleeps. Called from a thread of the host. Idempotent. Keeps errno.
 */
void gmt_exit_thread_start(void);

/*
 * Returns whether the thread exists. If it does, it is one of the recorder's threads for
 * gmt_host_threads_have_ended.
 */
bool gmt_exit_thread_exists(void);

/*
 * Lets the thread call exit(0). Starts the thread first if it does not exist. Returns false if it
 * cannot be started.
 */
bool gmt_exit_thread_call_exit(void);

/* Lets the thread end without a call of exit. */
void gmt_exit_thread_cancel(void);

/* Forgets the parent's thread. Called in the child of a fork. */
void gmt_exit_thread_forget(void);

#endif
