/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_WRITER_H
#define GMT_WRITER_WRITER_H

/*
 * The writer: the thread that empties the rings into the file. Data flow: ring -> writer -> stream
 * -> encoder -> sink. It sleeps until a ring is half full or a quarter of a second has passed. It
 * blocks all signals and does not allocate from the host's heap. It makes the file readable up to
 * the present (a sync point) at least once per second and once per mebibyte.
 *
 * With writer=lazy the start of the thread is delayed until the first call below that needs it. If
 * the process ends earlier, the thread that ends the process writes the whole file. So a program
 * with one thread keeps one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording_state.h"

/*
 * Functions that the writer calls, all from its own thread except `started_late`. All except `open`
 * and `failed` may be NULL.
 */
struct gmt_writer_listener {
	/* Opens the files of the recording, before all other work; false: no recording. */
	bool (*open)(void);
	void (*failed)(void);     /* the file can no longer be written */
	void (*before_sync)(void); /* a sync point follows: a good moment for rare work */
	/* The writer is awake, which happens at least four times per second. */
	void (*each_round)(void);
	/*
	 * Returns whether libc counts only `recorder_threads` threads, all of them the recorder's. Then
	 * the last thread of the host would have called exit().
	 */
	bool (*is_last)(unsigned recorder_threads);
	void (*stop_threads)(void);    /* the process ends: stops the other threads of the recorder */
	unsigned (*threads)(void); /* returns how many other threads the recorder has */
	void (*started_late)(void);  /* called by the thread that has started a delayed writer */
};

/* Prepares the writer of `recording`. From now on it can be woken. Makes no thread yet. */
void gmt_writer_init(struct gmt_recording_state *recording, struct gmt_writer_listener listener);

/* Starts the thread, detached. Returns false if it cannot be made. */
bool gmt_writer_start(void);

/* Delays the start of the thread until it is needed. */
void gmt_writer_delay(void);

/* Returns whether the start is delayed and the thread was not needed so far. Any thread. */
bool gmt_writer_is_delayed(void);

/*
 * Starts the thread if its start was delayed. If the thread cannot be made, reports this; the next
 * call tries again, after one second at the earliest. Any thread. Avoid calls that may have
 * interrupted malloc: libc allocates the data of a new thread.
 */
void gmt_writer_start_if_delayed(void);

/*
 * Wakes the writer, so that it empties the rings soon. Starts the thread if its start was delayed.
 * Any thread. Makes one system call.
 */
void gmt_writer_wake(void);

/*
 * Makes the file readable up to the present, soon. Waits at most `wait_ms` for it. With 0 it does
 * not wait, and the writer does the work when it wakes next. Starts a delayed thread if it waits.
 * Any thread except the writer. For rare moments.
 */
void gmt_writer_sync(uint32_t wait_ms);

/*
 * Requests that the writer unlinks its files in shared memory before the next sync point. Any
 * thread.
 */
void gmt_writer_remove_names(void);

/*
 * Requests that the writer empties all rings and ends the file. Waits for a bounded time. If the
 * file then contains everything, the writer removes the recorder's memory. Otherwise the memory
 * keeps the rest. If the start of the thread is still delayed, the calling thread does all of this.
 */
void gmt_writer_stop(void);

/*
 * Forgets the parent's writer. Called in the child of a fork. A delayed thread of the parent is
 * never made in the child.
 */
void gmt_writer_forget(void);

#endif
