/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SESSION_H
#define GMT_WRITER_SESSION_H

/*
 * One recording: area, depot, rings, file and writer thread. In the flow: between capture and the
 * file. It begins with the process's first event and ends with the process; a forked child that uses
 * CUDA begins its own.
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
	GMT_SESSION_CALLED, /* on, and the next event is to start the writer, which was put off */
	GMT_SESSION_OVER,
};

/* What each event looks at (producer/record_one_event.h); the session alone writes it. */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_state;  /* enum gmt_session_state */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_number; /* of the recording, for threads that hold a ring of another one */

/* Whether a recording in that state takes events. */
static inline bool gmt_session_state_is_on(uint32_t state)
{
	return state == GMT_SESSION_ON || state == GMT_SESSION_CALLED;
}

/* From the constructor. Without `may_begin` (a set-uid program) nothing will ever be recorded. */
void gmt_session_init(bool may_begin);

/* False when nothing will be recorded any more. */
bool gmt_session_may_begin(void);

/*
 * The depot of the recording, which is begun when there is none yet. NULL when nothing is recorded
 * (any more): the caller goes on as if it had recorded. Any thread, from hooks.
 */
struct gmt_depot *gmt_session_depot(void);

/* Whether a recording was begun in this process, or is just beginning. Any thread. */
bool gmt_session_has_begun(void);

/*
 * Wakes the writer. A thread that was put off is started by the next event instead: this is for signal handlers, which may have
 * interrupted malloc. Any thread; errno may change.
 */
void gmt_session_wake_writer_safely(void);

/* False while the recorder is to make no thread in this process, or none yet: writer=lazy. Any thread. */
bool gmt_session_may_make_threads(void);

/* Whether something is being recorded. Any thread. */
bool gmt_session_is_on(void);

/* Whether another thread is still at the first files: who has waited for that in vain counts a loss. */
bool gmt_session_is_beginning(void);

/* Offers an event of the calling thread. Waits, drops and counts as configured. */
void gmt_session_push(const struct gmt_ring_event *event);

/* An event that cannot even be offered, or a stack that did not fit: counted, told in the report. */
enum gmt_loss {
#define GMT_LOSS(name, reason) GMT_LOSS_##name,
#include "format/losses.def"
#undef GMT_LOSS
	GMT_LOSS_COUNT
};
void gmt_session_count_loss(enum gmt_loss loss);
void gmt_session_count_losses(enum gmt_loss loss, uint64_t count);

/* A line for the report's reader, kept until the file is there. Text is copied. */
void gmt_session_note(const char *text);

/*
 * A line about a fault of this recording (runtime/fault.h): a forked child's own does not have it. Text is copied.
 * Few are kept; waits for nobody.
 */
void gmt_session_note_fault(const char *text);

/* `work` is called by the writer's thread about once a second, from now on. */
void gmt_session_call_now_and_then(void (*work)(void));

/*
 * `work` is called by the writer's thread whenever it is awake, at least four times a second, from now on. It
 * may have threads of its own: `threads` says how many there are.
 */
void gmt_session_call_each_round(void (*work)(void), unsigned (*threads)(void));

/*
 * For a process whose threads have all ended but ours: `is_last` says whether libc counts only `own` threads, `stop_threads` ends
 * those of each_round.
 */
void gmt_session_call_when_alone(bool (*is_last)(unsigned own), void (*stop_threads)(void));

/* The main thread is about to end, and the process may go on. From that thread. Any process. errno is kept. */
void gmt_session_main_thread_ends(void);

/* `work` is called by each thread before its first event of a recording, in the recorder; once set. */
void gmt_session_call_at_first(void (*work)(void));

/* `work` is called by each thread when it gets its ring in a recording, and by the one that starts a writer late, from now on. */
void gmt_session_call_at_thread(void (*work)(void));

/*
 * Another program is about to take this one's place: what was recorded up to now is put into the file, and
 * goes on being recorded where that fails. Bounded wait. Any thread, also in the child of a vfork, where nothing happens.
 */
void gmt_session_before_exec(void);

/*
 * The process of root is about to become another user's, which may not remove what lies in shared memory. The names there are removed
 * now. The recording goes on; by SIGKILL it loses what is not in the file. Bounded wait. Any thread; errno is kept.
 */
void gmt_session_before_new_user(void);

/* Ends the recording: the writer finishes the file. Bounded wait. From the destructor. */
void gmt_session_end(void);

/* The process ends: a recording that has not begun by now never begins. Any thread; no system call. */
void gmt_session_never_begin(void);

/* In the child of a fork: nothing of the parent's recording is touched any more. */
void gmt_session_abandon(void);

#endif
