/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_WRITER_H
#define GMT_WRITER_WRITER_H

/*
 * The thread that empties the rings into the file. In the flow: ring -> writer -> encode -> sink.
 * It sleeps until a ring is half full or a quarter of a second has passed, blocks all signals, uses
 * no memory of the host's heap, and makes the file readable up to now (a sync point) at least once a
 * second and once a mebibyte.
 *
 * With writer=lazy the thread is put off until the first of the calls below that need it. If the process ends before, the thread that
 * ends it writes the whole file itself. So a program that had one thread keeps one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording.h"

/* What the writer tells, from its own thread. */
struct gmt_writer_listener {
	bool (*open)(void);        /* opens the files of the recording, before all else; false: there is none */
	void (*failed)(void);     /* the file can no longer be written */
	void (*before_sync)(void); /* a sync point is near: a good moment for rare work; may be NULL */
	void (*each_round)(void);  /* it is awake, as at least four times a second; may be NULL */
	bool (*is_last)(unsigned own); /* libc counts no threads but so many of ours: the host's last one would call exit(); may be NULL */
	void (*stop_threads)(void);    /* the process ends: those threads are to end; may be NULL */
	unsigned (*threads)(void); /* how many threads of ours there are besides it; may be NULL */
	void (*begun_late)(void);  /* a thread that was put off was made; from the thread that made it; may be NULL */
};

/* Makes the writer of `recording` ready: from here on it can be woken. No thread is made yet. */
void gmt_writer_init(struct gmt_recording *recording, struct gmt_writer_listener listener);

/* Starts the thread, detached. False when it cannot be made. */
bool gmt_writer_start(void);

/* Puts the thread off until it is needed. */
void gmt_writer_put_off(void);

/* Whether the thread is put off, and not needed so far. Any thread. */
bool gmt_writer_is_put_off(void);

/*
 * Starts the thread if it was put off. If it cannot be made, that is reported, and the next call tries again. Any thread. Not where
 * malloc may be interrupted, if the caller can help it: libc allocates a thread's data.
 */
void gmt_writer_need(void);

/* A ring wants to be emptied soon. Any thread; one system call. Starts a thread that was put off. */
void gmt_writer_wake(void);

/*
 * The file shall be readable up to now, soon. Waits at most `wait_ms` until it is; with 0 the writer
 * does it when it next wakes. Any thread but the writer; for rare moments. Starts a thread that was put off, if it waits.
 */
void gmt_writer_sync(uint32_t wait_ms);

/* The writer shall remove the names of its files in shared memory before the next sync point. Any thread. */
void gmt_writer_leave_names(void);

/*
 * Tells the writer to empty everything and end the file; waits for it, but not for ever. Where the file then has all, the writer
 * removes the recorder's memory; else the rest is in there. If the thread is still put off, the calling thread does all that.
 */
void gmt_writer_stop(void);

/* In the child of a fork: what the parent's writer was at is the parent's, and a thread that was put off is never made. */
void gmt_writer_forget(void);

#endif
