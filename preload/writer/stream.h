/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_STREAM_H
#define GMT_WRITER_STREAM_H

/*
 * The file that is being written: what came out of the rings becomes rows with the file's own ids, each
 * defined before it is used. In the flow: ring -> writer -> stream -> encode -> journal -> sink. Used by the
 * writer's thread alone; no memory of the host's heap.
 *
 * Nothing is lost and nothing doubled when the process is killed, whenever that is (writer/stream.c says why).
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "writer/process_metadata.h"
#include "writer/pending_definitions.h"
#include "writer/recording.h"
#include "shared_memory/definitions.h"
#include "format/encoding/encode.h"
#include "shared_memory/ring_rows.h"
#include "format/file/sink.h"

/* What is being written: blocks of a batch count together, those of the beginning stand in the preamble too. */
enum gmt_stream_part { GMT_STREAM_ANY, GMT_STREAM_BEGINNING, GMT_STREAM_NAMES, GMT_STREAM_BATCH };

enum { GMT_STREAM_STEPPERS = 16 };

/* Large: static, not on a stack. */
struct gmt_stream {
	struct gmt_recording *recording;
	void (*failed)(void);
	bool has_failed;
	struct gmt_sink *sink;
	struct gmt_encoder encoder;
	struct gmt_encoder sync_encoder; /* a sync point may be needed while a block waits in the other */
	struct gmt_pending_definitions journal;
	uint64_t batch_at; /* in the journal: the committed batch that the sink does not have yet */
	enum gmt_stream_part part;
	struct gmt_definitions definitions;
	struct gmt_process_metadata facts;
	uint64_t events;       /* in the file */
	uint64_t dropped;      /* events that are not, of all threads */
	uint32_t threads;      /* that made events */
	bool was_paused;       /* as the file says */
	uint32_t changes_seen; /* of that */
	uint64_t synced_bytes; /* pushed into the sink until the last sync point */
	uint64_t synced_file_bytes; /* the file then */
	uint64_t synced_ns;
	struct gmt_member_about member; /* what the member of gzip has that is being written */
	/* The file may become so long; beyond, detail is left out and counted. UINT64_MAX: no bound. */
	uint64_t limit_bytes;
	bool is_full;          /* that was reached; set back by who made room */
	bool room_may_come;    /* meanwhile events wait in the rings */
	GMT_VEC(uint8_t) waiting; /* blocks that others refer to, likewise: the length of each, and its bytes */
	uint64_t lost_events;  /* because of it */
	uint64_t staged_bytes; /* of a batch, in the journal and not yet pushed */
	uint64_t told_lost_events;
	struct {
		uint64_t object, count;
		uint8_t source;
	} steps[GMT_STREAM_STEPPERS]; /* ends of steps, of each who counts some */
	struct gmt_ring_rows rows;
};

/*
 * Begins the file of `recording`, which outlives the stream, with what is known at the start and a sync
 * point. `limit_bytes`: see above. `failed` is called when the file can no longer be written, which is told once; what is pushed
 * then is swallowed. False when there is nothing to push to.
 */
bool gmt_stream_open(struct gmt_stream *stream, struct gmt_recording *recording, uint64_t limit_bytes,
	void (*failed)(void));

/*
 * Writes at most GMT_RING_ROWS_MAX events of the ring in that slot, its oldest, each kind as a block of its own.
 * True: they are safe; the caller takes them out of the ring, and then calls gmt_stream_events_taken, which
 * goes on with them. False when the file can no longer be written, or not yet: they are to stay in the ring.
 */
bool gmt_stream_events(struct gmt_stream *stream, uint32_t slot, const struct gmt_ring *ring,
	const struct gmt_ring_event *batch, uint32_t count);
void gmt_stream_events_taken(struct gmt_stream *stream);

/* Names the thread that has this ring, before its first event. */
void gmt_stream_thread(struct gmt_stream *stream, const struct gmt_ring *ring);

/* The thread of that id lost `count` events in all, for this reason; `before` of them were told already. */
void gmt_stream_drop(struct gmt_stream *stream, uint32_t thread, const char *reason, uint64_t count, uint64_t before);

/* Writes what is new besides events, and makes all up to here readable in the file. */
void gmt_stream_sync(struct gmt_stream *stream);

/* Whether a second or a mebibyte has passed since the last sync point. */
bool gmt_stream_is_sync_due(const struct gmt_stream *stream);

/* Ends of steps so far, of the one who counted most. */
uint64_t gmt_stream_steps(const struct gmt_stream *stream);

/*
 * Right behind a sync point: ends a member of gzip, so that what follows can be copied, and read, without what was
 * before. False when the file cannot be written.
 */
bool gmt_stream_end_member(struct gmt_stream *stream);

/* Likewise, where the member is large enough for readers to gain by leaving it out. */
void gmt_stream_end_large_member(struct gmt_stream *stream);

/* Ends the file in order; false when it lacks something. */
bool gmt_stream_close(struct gmt_stream *stream);

#endif
