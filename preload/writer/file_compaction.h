/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_FILE_COMPACTION_H
#define GMT_WRITER_FILE_COMPACTION_H

/*
 * Keeps the file within its limits: decides which part of it to compact
 * (writer/file_compaction_rewrite.h) and when. docs/bounds.md describes what each mode keeps. Only
 * the writer's thread uses it, except gmt_file_compaction_forget.
 */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "writer/file_compaction_rewrite.h"
#include "writer/stream.h"

enum { GMT_FILE_COMPACTION_CUTS = 64 };

/*
 * A place where the file can be cut: a gzip member ends there, directly behind a sync point. A
 * compaction replaces all events before a cut.
 */
struct gmt_file_compaction_cut {
	uint64_t bytes;  /* size of the file before the cut */
	uint64_t events; /* recorded before the cut, as gmt_stream counts them */
	uint64_t steps;
	uint64_t stamp;  /* nearly all records with an older stamp are before the cut */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

struct gmt_file_compaction {
	struct gmt_recording_state *recording;
	struct gmt_stream *stream;
	/* A recording in mode=full becomes a window if the file gets too large. */
	enum gmt_mode mode;
	struct gmt_window window;
	uint64_t max_size_bytes;
	bool is_size_window; /* the window is as large as max_size allows */
	struct gmt_file_compaction_cut
		start; /* the last compaction's cut: later events are in detail */
	struct gmt_file_compaction_cut cuts[GMT_FILE_COMPACTION_CUTS]; /* the oldest first */
	uint32_t cut_count;
	uint32_t cuts_to_remove; /* number of first cuts that the running compaction removes */
	/* Minimum size of a compacted prefix, in front of the copied part. */
	uint64_t prefix_bytes;
	/* The last compaction found no room: the next one keeps as little as possible. */
	bool is_tight;
	uint64_t not_before_ns; /* a compaction failed: time of the next try (CLOCK_MONOTONIC) */
	bool reported_failure, reported_short;
	bool is_flush_slow; /* the disk was slow to flush a new file */
	uint64_t compactions;
	struct gmt_file_compaction_rewrite rewrite;
};

/*
 * Initializes `compaction`. `recording` and `stream` must outlive it. The stream was just opened.
 */
void gmt_file_compaction_init(struct gmt_file_compaction *compaction,
	struct gmt_recording_state *recording, struct gmt_stream *stream);

/* Returns whether a sync point is useful now, because a cut is due or room is needed. */
bool gmt_file_compaction_wants_sync(const struct gmt_file_compaction *compaction);

/*
 * Adds a cut and begins a compaction, if they are due. Called directly behind a sync point, for
 * which the writer has emptied the rings. `stamp` was taken before the rings were emptied.
 */
void gmt_file_compaction_synced(struct gmt_file_compaction *compaction, uint64_t stamp);

/*
 * Does a few milliseconds of compaction work. Returns true if work is left: then the caller calls
 * it again soon.
 */
bool gmt_file_compaction_work(struct gmt_file_compaction *compaction);

/*
 * Cancels the running compaction, and removes its temporary file. Called when the disk accepts no
 * data, also from code that writes to the stream. Returns true if a compaction was running: the
 * removal may have made room, so the caller tries again at once.
 */
bool gmt_file_compaction_make_room(struct gmt_file_compaction *compaction);

/*
 * Ends the running compaction at the end of the recording, after the writer has emptied the rings
 * as far as the file had room. Cancels the compaction, unless events wait for the room that it
 * makes. Returns true if events waited: the caller must empty the rings again. After the deadline
 * (CLOCK_MONOTONIC), events without room count as dropped.
 */
bool gmt_file_compaction_settle(struct gmt_file_compaction *compaction, uint64_t deadline_ns);

/*
 * Compacts the whole file in mode=aggregate, if that can be done before the deadline. Called when
 * the rings are empty and the stream is still open.
 */
void gmt_file_compaction_finish(struct gmt_file_compaction *compaction, uint64_t deadline_ns);

/* Closes the parent's files. Called in the child of a fork. */
void gmt_file_compaction_forget(struct gmt_file_compaction *compaction);

#endif
