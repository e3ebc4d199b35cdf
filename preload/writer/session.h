/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SESSION_H
#define GMT_WRITER_SESSION_H

/*
 * Begins and ends the recording: its memory, depot, rings, file and writer thread. The producer
 * reads the state in producer/session_state.h.
 */

#include <stdbool.h>

/*
 * Initializes the session. Called from the constructor. Without `may_begin` (a set-uid program) the
 * process never records anything.
 */
void gmt_session_init(bool may_begin);

/* Sets `work`, which the writer's thread calls about once per second from now on. */
void gmt_session_call_each_second(void (*work)(void));

/*
 * Sets `work`, which the writer's thread calls whenever it is awake from now on, at least four
 * times per second. `work` may have its own threads: `threads` returns how many there are.
 */
void gmt_session_call_each_round(void (*work)(void), unsigned (*threads)(void));

/*
 * Sets the functions for a process in which only the recorder's threads are left. `is_last` returns
 * whether libc counts only `recorder_threads` threads. `stop_threads` ends the threads of
 * gmt_session_call_each_round.
 */
void gmt_session_call_when_alone(bool (*is_last)(unsigned recorder_threads),
	void (*stop_threads)(void));

/*
 * Prepares for the end of the main thread, after which the process may continue. Called from that
 * thread, in any process. Keeps errno.
 */
void gmt_session_main_thread_ends(void);

/*
 * Sets `work`, which each thread calls from now on when it gets its ring in a recording. The thread
 * that starts a delayed writer calls it too.
 */
void gmt_session_call_at_claim(void (*work)(void));

/*
 * Writes everything recorded so far to the file, because another program is about to replace this
 * one (exec). If the exec fails, the recording continues. Waits for a bounded time. Any thread.
 * Does nothing in the child of a vfork.
 */
void gmt_session_before_exec(void);

/*
 * Unlinks the recorder's files in shared memory, because a process of root is about to become
 * another user's process, which may not be allowed to unlink them later. The recording continues;
 * from then on SIGKILL loses everything that is not in the file. Waits for a bounded time. Any
 * thread. Keeps errno.
 */
void gmt_session_before_user_change(void);

/*
 * Ends the recording. The writer finishes the file. Waits for a bounded time. Called at the end of
 * the process.
 */
void gmt_session_end(void);

#endif
