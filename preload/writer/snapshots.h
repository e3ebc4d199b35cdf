/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SNAPSHOTS_H
#define GMT_WRITER_SNAPSHOTS_H

/*
 * Snapshots of a recording that continues. A snapshot is a copy of the file up to a sync point, and
 * is a complete recording. The writer copies a part in each of its rounds and empties the rings
 * between the parts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "writer/stream.h"

/*
 * Why a snapshot is taken. The recorder itself decides to take the last two, and limits their
 * number.
 */
enum gmt_snapshot_cause {
	GMT_SNAPSHOT_READER,  /* gpumemtrace snapshot, over the control file */
	GMT_SNAPSHOT_SIGNAL,
	GMT_SNAPSHOT_PROGRAM, /* gpumemtrace_snapshot() */
	GMT_SNAPSHOT_OOM,
	GMT_SNAPSHOT_PEAK,
	GMT_SNAPSHOT_CAUSES,
};

/*
 * Requests a snapshot. The writer takes it soon. Any thread, also from a signal handler. Makes at
 * most one system call.
 */
void gmt_snapshots_request(enum gmt_snapshot_cause cause);

/* Requests a snapshot with a name that the program gives (NULL: no name). Copies the name. */
void gmt_snapshots_request_named(const char *name);

/*
 * Requests a snapshot for a reader. `path` is absolute, or empty. Later calls `answer` with the
 * path of the snapshot, or with NULL and the reason of the failure. Called by the writer.
 */
void gmt_snapshots_request_for_reader(const char *path,
	void (*answer)(const char *path, const char *why));

/*
 * Records that `used_bytes` of the device's memory are in use now. A new peak may cause a snapshot.
 * Called by the writer.
 */
void gmt_snapshots_note_usage(int16_t device, uint64_t used_bytes);

/* Returns whether a snapshot is due: the stream then needs a sync point. Called by the writer. */
bool gmt_snapshots_is_due(void);

/* Begins a snapshot that is due. Called by the writer directly behind a sync point. */
void gmt_snapshots_begin(struct gmt_stream *stream);

/*
 * Copies the next part. With `all`, copies everything that is left. Returns true while work is
 * left. Called by the writer.
 */
bool gmt_snapshots_work(bool all);

/* Returns how many snapshots were written. */
uint64_t gmt_snapshots_count(void);

/*
 * Discards the snapshots of an earlier recording, for example of a forked child's parent. Called
 * when a recording begins.
 */
void gmt_snapshots_reset(void);

/*
 * Installs a handler for the configured signal, unless the host handles this signal. Called in the
 * thread that begins the recording.
 */
void gmt_snapshots_handle_signal(void);

#endif
