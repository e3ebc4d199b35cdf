/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SESSION_H
#define GMT_WRITER_SESSION_H

/*
 * One recording: its memory, depot, rings, file and writer thread. It stands between the code that
 * captures events and the file. A recording begins with the first event of a process and ends with
 * the process. A forked child that uses CUDA begins its own recording.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "runtime/hidden.h"
#include "shared_memory/ring_event.h"

enum gmt_session_state {
	GMT_SESSION_NONE,
	GMT_SESSION_STARTING,
	GMT_SESSION_ON,
	/* Recording; the next event must start the writer, whose start was delayed. */
	GMT_SESSION_CALLED,
	GMT_SESSION_OVER,
};

/* The state that each event reads (producer/record_one_event.h). Only the session writes it. */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_state;  /* enum gmt_session_state */
/* Number of the recording; detects rings of an earlier recording. */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_number;

/* Returns whether a recording in that state accepts events. */
static inline bool gmt_session_state_is_on(uint32_t state)
{
	return state == GMT_SESSION_ON || state == GMT_SESSION_CALLED;
}

/*
 * Initializes the session. Called from the constructor. Without `may_begin` (a set-uid program) the
 * process never records anything.
 */
void gmt_session_init(bool may_begin);

/* Returns false if this process will record nothing from now on. */
bool gmt_session_may_begin(void);

/*
 * Returns the depot of the recording. Begins the recording if there is none yet. Returns NULL if
 * nothing is recorded, or no longer recorded: the caller continues as if it had recorded the event.
 * Any thread, from hooks.
 */
struct gmt_depot *gmt_session_depot(void);

/* Returns whether a recording has begun in this process, or is beginning now. Any thread. */
bool gmt_session_has_begun(void);

/*
 * Wakes the writer. If the writer's start was delayed, the next event starts it. This function is
 * for signal handlers, which may have interrupted malloc. Any thread. May change errno.
 */
void gmt_session_wake_writer_safely(void);

/*
 * Returns false while the recorder must not make threads in this process (writer=lazy). Any thread.
 */
bool gmt_session_may_make_threads(void);

/* Returns whether a recording is active. Any thread. */
bool gmt_session_is_on(void);

/*
 * Returns whether another thread is still opening the first files. A thread that has waited for
 * this in vain counts a loss.
 */
bool gmt_session_is_beginning(void);

/* Pushes an event of the calling thread. Waits, drops and counts as configured. */
void gmt_session_push(const struct gmt_ring_event *event);

/*
 * Reasons for losses: an event that could not be pushed to a ring at all, or a stack that did not
 * fit. The losses are counted and shown in the report.
 */
enum gmt_loss {
#define GMT_LOSS(name, reason) GMT_LOSS_##name,
#include "format/losses.def"
#undef GMT_LOSS
	GMT_LOSS_COUNT
};
void gmt_session_count_loss(enum gmt_loss loss);
void gmt_session_count_losses(enum gmt_loss loss, uint64_t count);

/*
 * Adds a note for the user to the report. The note is kept until the file exists. Copies the text.
 */
void gmt_session_note(const char *text);

/*
 * Adds a note about a fault of this recording (runtime/fault.h). The recording of a forked child
 * does not have this note. Copies the text. Keeps only a few notes. Does not wait for other
 * threads.
 */
void gmt_session_note_fault(const char *text);

/* Sets `work`, which the writer's thread calls about once per second from now on. */
void gmt_session_call_now_and_then(void (*work)(void));

/*
 * Sets `work`, which the writer's thread calls whenever it is awake from now on, at least four
 * times per second. `work` may have its own threads: `threads` returns how many there are.
 */
void gmt_session_call_each_round(void (*work)(void), unsigned (*threads)(void));

/*
 * Sets the functions for a process in which only the recorder's threads are left. `is_last` returns
 * whether libc counts only `own` threads. `stop_threads` ends the threads of
 * gmt_session_call_each_round.
 */
void gmt_session_call_when_alone(bool (*is_last)(unsigned own), void (*stop_threads)(void));

/*
 * Prepares for the end of the main thread, after which the process may continue. Called from that
 * thread, in any process. Keeps errno.
 */
void gmt_session_main_thread_ends(void);

/*
 * Sets `work`, which each thread calls before its first event of a recording, while it is in the
 * recorder. Called once.
 */
void gmt_session_call_at_first(void (*work)(void));

/*
 * Sets `work`, which each thread calls from now on when it gets its ring in a recording. The thread
 * that starts a delayed writer calls it too.
 */
void gmt_session_call_at_thread(void (*work)(void));

/*
 * Writes everything recorded so far to the file, because another program is about to replace this
 * one (exec). If the exec fails, the recording continues. Waits for a bounded time. Any thread.
 * Does nothing in the child of a vfork.
 */
void gmt_session_before_exec(void);

/*
 * Removes the recorder's names in shared memory, because a process of root is about to become
 * another user's process. That user may not be allowed to remove them later. The recording
 * continues; from then on SIGKILL loses everything that is not in the file. Waits for a bounded
 * time. Any thread. Keeps errno.
 */
void gmt_session_before_new_user(void);

/*
 * Ends the recording. The writer finishes the file. Waits for a bounded time. Called at the end of
 * the process.
 */
void gmt_session_end(void);

/*
 * Ensures that a recording that has not begun by now never begins. Called at the end of the
 * process. Any thread. Makes no system call.
 */
void gmt_session_never_begin(void);

/*
 * Releases the parent's recording, so that the child does not touch it. Called in the child of a
 * fork.
 */
void gmt_session_abandon(void);

#endif
