/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_SESSION_STATE_H
#define GMT_PRODUCER_SESSION_STATE_H

/*
 * The state of the session, for all code that records. A session is one recording: it begins with
 * the first event of a process and ends with the process. A forked child that uses CUDA begins its
 * own session. Only writer/session.c changes the state; other code calls the functions below.
 *
 * The producer needs a writer thread, but does not know the writer: it asks for one through
 * gmt_writer_calls, which the writer fills in.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "runtime/hidden.h"

enum gmt_session_state {
	GMT_SESSION_NONE,
	GMT_SESSION_STARTING,
	GMT_SESSION_ON,
	/* Recording. The start of the writer was delayed, and the next event must start the writer. */
	GMT_SESSION_WRITER_DUE,
	GMT_SESSION_OVER,
};

/* The state that each event reads (producer/event_fast_path.h). */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_state; /* enum gmt_session_state */
/* Number of the session in this process. A forked child gets a new number: see thread_state.h. */
extern GMT_HIDDEN _Atomic uint32_t gmt_session_number;

struct gmt_recording_memory;

/* The state that only rare code reads. */
extern GMT_HIDDEN struct gmt_session {
	struct gmt_depot *depot; /* set before the state is ON */
	struct gmt_recording_memory *memory; /* the rings; set once, in the constructor */
	_Atomic bool has_begun; /* this process has created its files or is creating them */
	/* The disk accepts no data at present, so waiting for the writer is useless. */
	_Atomic bool is_stalled;
	_Atomic uint32_t ending; /* 0: no, 1: a thread is ending the session, 2: ended */
} gmt_session;

/* Requests of the producer to the writer. All may be called by any thread, in the recorder. */
extern GMT_HIDDEN struct gmt_writer_calls {
	/* Begins the recording, or waits for the thread that does. Returns whether it is on. */
	bool (*begin)(void);
	/* Wakes the writer, so that it empties the rings soon. Starts it if its start was delayed. */
	void (*wake)(void);
	/* Starts the writer if its start was delayed (writer/writer.h). */
	void (*start_if_delayed)(void);
	/* Returns whether the start of the writer is delayed. */
	bool (*is_delayed)(void);
	/* Makes the file readable up to the present, and waits at most `wait_ms` for it. */
	void (*sync)(uint32_t wait_ms);
	/* Requests a snapshot because memory ran out. */
	void (*snapshot_oom)(void);
} gmt_writer_calls;

/* Returns whether a recording in that state accepts events. */
static inline bool gmt_session_state_is_on(uint32_t state)
{
	return state == GMT_SESSION_ON || state == GMT_SESSION_WRITER_DUE;
}

/* Returns false if this process will record nothing from now on. */
bool gmt_session_may_begin(void);

/*
 * Returns the depot of the recording. Begins the recording if no recording has begun. Returns NULL
 * if events are not recorded, or no longer: the caller then drops its event without a message. Any
 * thread, from hooks.
 */
struct gmt_depot *gmt_session_ensure_depot(void);

/* Returns whether a recording has begun in this process, or is beginning now. Any thread. */
bool gmt_session_has_begun(void);

/* Returns whether a recording is active. Any thread. */
bool gmt_session_is_on(void);

/*
 * Returns whether another thread is still opening the files of the recording. A thread whose wait
 * for them has failed counts a loss.
 */
bool gmt_session_is_beginning(void);

/*
 * Returns false while the recorder must start no thread in this process (writer=lazy). Any thread.
 */
bool gmt_session_may_make_threads(void);

/*
 * Wakes the writer. If the writer's start was delayed, lets the next event start it. For signal
 * handlers, which may have interrupted malloc. May change errno.
 */
void gmt_session_wake_writer_safely(void);

/*
 * Ensures that a recording that has not begun by now never begins. Called at the end of the
 * process. Any thread. Makes no system call.
 */
void gmt_session_never_begin(void);

#endif
