/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_STREAM_H
#define GMT_WRITER_STREAM_H

/*
 * The file that the writer is writing. The stream turns the events of the rings into rows with the
 * ids of the file. Each id is defined before it is used. Data flow: ring -> writer -> stream ->
 * encoder -> journal -> sink. Only the writer's thread uses it. Does not allocate from
 * the host's heap.
 *
 * A kill at any moment neither loses nor duplicates events. writer/stream.c explains why.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "writer/process_metadata.h"
#include "writer/journal.h"
#include "writer/recording_state.h"
#include "shared_memory/definitions.h"
#include "format/encoding/encode_rows.h"
#include "shared_memory/ring_rows.h"
#include "format/file/sink.h"

/* The part that the stream is writing. The blocks of a batch become valid together. */
enum gmt_stream_part { GMT_STREAM_ANY, GMT_STREAM_BATCH };

enum { GMT_STREAM_STEPPERS = 16 };

/* Large: use static storage, not a stack. */
struct gmt_stream {
	struct gmt_recording_state *recording;
	void (*failed)(void);
	bool has_failed;
	struct gmt_sink *sink;
	struct gmt_encoder encoder;
	/* For sync points: `encoder` may hold a block that is not written yet. */
	struct gmt_encoder sync_encoder;
	struct gmt_journal journal;
	/*
	 * Offset, in the journal, of the committed batch that the sink does not have yet.
	 */
	uint64_t batch_at;
	enum gmt_stream_part part;
	struct gmt_definitions definitions;
	struct gmt_process_metadata metadata;
	uint64_t events;       /* number of events in the file */
	uint64_t dropped;      /* number of events of all threads that are not in the file */
	uint32_t threads;      /* number of threads that recorded events */
	bool was_paused;       /* the last state that the file contains */
	uint32_t changes_seen; /* position in the list of pauses and resumes */
	uint64_t synced_pushed_bytes; /* gmt_sink_pushed_bytes at the last sync point */
	uint64_t synced_file_bytes; /* size of the file at the last sync point */
	uint64_t synced_ns;
	struct gmt_member_description member; /* description of the gzip member that is being written */
	/*
	 * Maximum length of the file. Beyond it, the stream drops and counts details. UINT64_MAX: no
	 * limit.
	 */
	uint64_t limit_bytes;
	bool is_full; /* the limit was reached; the code that makes room resets this */
	bool room_may_come; /* a compaction may make room: until then, events wait in the rings */
	/*
	 * Blocks that later rows refer to and that found no room yet: for each block its length, then
	 * its bytes.
	 */
	GMT_VEC(uint8_t) waiting;
	uint64_t lost_events; /* events lost because the file is full */
	/* Bytes of a batch that are in the journal and not yet pushed. */
	uint64_t staged_bytes;
	uint64_t reported_lost_events;
	/* The number of step ends of each object that reports steps (stream_steps.h). */
	struct {
		uint64_t object, count;
		uint8_t source;
	} steps[GMT_STREAM_STEPPERS];
	struct gmt_ring_rows rows;
};

/*
 * Begins the file of `recording` with what is known at the start and a sync point. `recording` must
 * outlive the stream. For `limit_bytes`, see the field. The stream calls `failed` once when the
 * file can no longer be written. After that it discards everything that is pushed. Returns false if
 * no sink could be opened.
 */
bool gmt_stream_open(struct gmt_stream *stream, struct gmt_recording_state *recording,
	uint64_t limit_bytes, void (*failed)(void));

/*
 * Writes `batch`, the oldest events of the ring in that slot, at most GMT_RING_ROWS_MAX. Each kind
 * becomes its own block. Returns true if the journal has the events: the caller then removes them
 * from the ring and calls gmt_stream_events_taken, which passes them on to the sink. Returns false
 * if the file can no longer be written, or not yet: the events must then stay in the ring.
 */
bool gmt_stream_events(struct gmt_stream *stream, uint32_t slot, const struct gmt_ring *ring,
	const struct gmt_ring_event *batch, uint32_t count);
void gmt_stream_events_taken(struct gmt_stream *stream);

/* Writes the record of the thread that owns this ring. Called before its first event. */
void gmt_stream_thread(struct gmt_stream *stream, const struct gmt_ring *ring);

/*
 * Records that the thread with this id has lost `count` events in total, for this reason. `before`
 * of them were reported earlier.
 */
void gmt_stream_drop(struct gmt_stream *stream, uint32_t thread, const char *reason, uint64_t count,
	uint64_t before);

/* Writes everything new except events, and makes everything up to here readable in the file. */
void gmt_stream_sync(struct gmt_stream *stream);

/*
 * Returns whether a sync point is due: nearly one second has passed, or one mebibyte was pushed,
 * since the last one. A smaller max_size reduces the mebibyte.
 */
bool gmt_stream_is_sync_due(const struct gmt_stream *stream);

/*
 * Ends a gzip member, so that what follows can be copied and read without the part before it.
 * Called directly behind a sync point. Returns false if the file cannot be written.
 */
bool gmt_stream_end_member(struct gmt_stream *stream);

/* Does the same, but only if the member is so large that readers gain time by skipping it. */
void gmt_stream_end_large_member(struct gmt_stream *stream);

/* Ends the file properly. Returns false if something is missing in it. */
bool gmt_stream_close(struct gmt_stream *stream);

#endif
