/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SNAPSHOTS_H
#define GMT_WRITER_SNAPSHOTS_H

/*
 * Snapshots of a recording that goes on: a copy of the file up to a sync point, which is a whole recording
 * of its own. In the flow: beside the stream. The writer copies a part in each of its rounds, so that rings are emptied
 * meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "writer/stream.h"

/* Who wants one. The last two are the recorder's own ideas, and are limited in number. */
enum gmt_snapshot_cause {
	GMT_SNAPSHOT_READER,  /* gpumemtrace snapshot, over the control file */
	GMT_SNAPSHOT_SIGNAL,
	GMT_SNAPSHOT_PROGRAM, /* gpumemtrace_snapshot() */
	GMT_SNAPSHOT_OOM,
	GMT_SNAPSHOT_PEAK,
	GMT_SNAPSHOT_CAUSES,
};

/* Asks for a snapshot, soon. Any thread, also in a signal handler; no more than a system call. */
void gmt_snapshots_ask(enum gmt_snapshot_cause cause);

/* Likewise for the program, which says what it is about (NULL: nothing); the text is copied. */
void gmt_snapshots_ask_named(const char *name);

/* Writer: for a reader, who is answered by gmt_control_answer. `path` is absolute, or empty. */
void gmt_snapshots_ask_for(const char *path);

/* Writer: so much of the device's memory is in use now; a new peak may be worth a snapshot. */
void gmt_snapshots_see_use(int16_t device, uint64_t used_bytes);

/* Writer: whether a snapshot is to be begun: the stream is to have a sync point. */
bool gmt_snapshots_is_due(void);

/* Writer, right behind a sync point. */
void gmt_snapshots_begin(struct gmt_stream *stream);

/* Writer: copies another part. True while there is more to do; `all`: until there is not. */
bool gmt_snapshots_work(bool all);

/* How many were written. */
uint64_t gmt_snapshots_count(void);

/* A recording begins: what is left of another one, a forked child's parent's, is forgotten. */
void gmt_snapshots_reset(void);

/* Takes the configured signal over, where the host leaves it alone. In the thread that begins the recording. */
void gmt_snapshots_take_signal(void);

#endif
