/* SPDX-License-Identifier: MIT */
#ifndef GMT_THREADS_EXIT_THREAD_H
#define GMT_THREADS_EXIT_THREAD_H

/*
 * A thread that replaces the last thread of the host. When the main thread has ended by
 * pthread_exit, libc lets the last thread call exit(0), which runs the exit handlers. With the
 * recorder's threads in the process, no thread of the host is the last. So the stand-in thread
 * calls exit(0) when all threads of the host have ended.
 *
 * The stand-in thread uses the host's descriptors and does not count as a thread of the recorder.
 * So the recorder records what exit handlers and destructors free.
 */

#include <stdbool.h>

/*
 * Makes the thread, which then sleeps. Called from a thread of the host. Idempotent. Keeps errno.
 */
void gmt_exit_thread_begin(void);

/*
 * Returns whether the thread exists. If it does, it counts as one of the recorder's threads in
 * gmt_last_threads_are.
 */
bool gmt_exit_thread_is_there(void);

/*
 * Lets the thread call exit(0). Makes the thread first if it does not exist. Returns false if it
 * cannot be made.
 */
bool gmt_exit_thread_exit(void);

/* Lets the thread end without a call of exit. */
void gmt_exit_thread_leave(void);

/* Forgets the parent's thread. Called in the child of a fork. */
void gmt_exit_thread_forget(void);

#endif
