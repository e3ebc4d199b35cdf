/* SPDX-License-Identifier: MIT */
#include "writer/stream.h"

#include <errno.h>
#include <string.h>

#include "runtime/stderr_messages.h"
#include "producer/clock.h"
#include "producer/session_state.h"
#include "producer/event.h"
#include "writer/snapshots.h"
#include "writer/stream_steps.h"
#include "format/encoding/varint.h"

enum {
	SYNC_MS = 700, /* plus at most one sleep of the writer: a sync point every second */
	SYNC_BYTES = 1 << 20,
	MEMBER_BYTES = 1 << 20, /* compressed size; a reader decompresses it in milliseconds */
	/* For a small max_size: sync points in each part, one part kept for the end. */
	LIMIT_PARTS = 16,
	RESERVE_BYTES = 256 << 10, /* maximum size of that reserve */
	GZIP_LEVEL = 1,
	/* Maximum; a batch with only new stacks of maximum depth needs less. */
	WAITING_BYTES = 32 << 20,
};

/*
 * Why a kill between any two steps neither loses nor duplicates an event. The steps for a batch:
 *
 *   1  The journal gets the blocks of the batch, and the ring's position behind it.
 *      They are not valid yet.
 *   2  The length of the journal moves behind them.                       (one store)
 *   3  The ring's `consumed` moves behind the batch.                                  (one store)
 *   4  The compressor gets the blocks. It writes them to the file at any later time.
 *
 * If the process is killed before step 2, the events are only in the ring. Between steps 2 and 3
 * they are also in the journal, whose position shows that the copies in the ring do not count.
 * After 3 they are in the journal, in the file, or in both. Both have the same blocks in the same
 * order behind the same sync point. So the reader takes only those blocks of the journal that
 * follow the blocks in the file.
 *
 * The steps for a sync point:
 *
 *   5  All bytes up to the sync record are written to the file.
 *   6  The journal becomes empty.                                          (one store)
 *   7  The journal stores the stamp of that record, which it now follows.             (one store)
 *
 * Between 5 and 7 the last sync record of the file is newer than the record that the journal
 * follows. The reader then ignores the journal, because its blocks are in the file. If step 5
 * fails, the file ends with at most the previous sync record, and the journal has everything behind
 * it. From then on the writer removes no events from the rings. These events stay readable,
 * together with the journal.
 */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns how many bytes may be pushed between two sync points. */
static uint64_t sync_bytes(const struct gmt_stream *stream)
{
	return smaller(SYNC_BYTES, stream->limit_bytes / LIMIT_PARTS);
}

/*
 * Returns whether a full file must still contain this kind: records of the losses and of the end.
 */
static bool is_written_at_end(uint32_t kind)
{
	return kind == GMT_RECORD_DROP || kind == GMT_RECORD_NOTE || kind == GMT_RECORD_CALLS ||
		kind == GMT_RECORD_API || kind == GMT_RECORD_CLOCK || kind == GMT_RECORD_END;
}

/* Returns whether `bytes` fit into the file, even if compression saves nothing. */
static bool has_room(const struct gmt_stream *stream, uint32_t kind, uint64_t bytes)
{
	uint64_t pushed = gmt_sink_pushed_bytes(stream->sink) - stream->synced_pushed_bytes +
		stream->staged_bytes + bytes;
	uint64_t reserve =
		is_written_at_end(kind) ? 0 : smaller(RESERVE_BYTES, stream->limit_bytes / LIMIT_PARTS);

	/* zlib's stored blocks, a sync point and a member's end together add less than 1/256. */
	return stream->limit_bytes == UINT64_MAX ||
		stream->synced_file_bytes + pushed + pushed / 256 + reserve <= stream->limit_bytes;
}

/* Handles the status of a write. Reports only the first failure, because the sink then discards. */
static void check(struct gmt_stream *stream, enum gmt_status status, const struct gmt_error *error)
{
	int why = errno;

	if (!status || stream->has_failed)
		return;
	stream->has_failed = true;
	atomic_store(&stream->recording->memory->header->write_errno, (uint32_t)(why ? why : EIO));
	/* If the disk was stalled to the end, this was already reported. */
	if (!atomic_load(&gmt_session.is_stalled))
		gmt_stderr_warn("%s: %s; recording stopped, the program continues", stream->recording->path,
			error->text);
	stream->failed();
}

static void push(struct gmt_stream *stream, const void *bytes, size_t length)
{
	struct gmt_error error;

	errno = 0;
	check(stream, gmt_sink_push(stream->sink, bytes, length, &error), &error);
}

/* Makes everything that was pushed readable, and empties the journal. */
static void sync_point(struct gmt_stream *stream)
{
	struct gmt_sync row = { .stamp = gmt_clock_stamp(), .events = stream->events };
	struct gmt_error error;
	enum gmt_status status =
		gmt_encode_rows(&stream->sync_encoder, GMT_RECORD_SYNC, &row, 1, &error);

	gmt_member_description_add(&stream->member, gmt_record_info(GMT_RECORD_SYNC), &row, 1);
	check(stream, status, &error);
	if (stream->has_failed)
		return;
	push(stream, stream->sync_encoder.block.items, stream->sync_encoder.block.count);
	errno = 0;
	check(stream, gmt_sink_sync(stream->sink, &error), &error);
	if (stream->has_failed)
		return;
	gmt_journal_reset(&stream->journal, row.stamp);
	stream->synced_pushed_bytes = gmt_sink_pushed_bytes(stream->sink);
	stream->synced_file_bytes = gmt_sink_written_bytes(stream->sink);
	stream->synced_ns = gmt_clock_monotonic_ns();
}

bool gmt_stream_end_member(struct gmt_stream *stream)
{
	struct gmt_error error;

	errno = 0;
	check(stream, gmt_sink_end_member(stream->sink, &stream->member, &error), &error);
	stream->synced_file_bytes = gmt_sink_written_bytes(stream->sink);
	gmt_member_description_clear(&stream->member);
	return !stream->has_failed;
}

void gmt_stream_end_large_member(struct gmt_stream *stream)
{
	if (!stream->has_failed && gmt_sink_member_bytes(stream->sink) >= MEMBER_BYTES)
		gmt_stream_end_member(stream);
}

/*
 * Returns whether the file has room. If not, makes a sync point if that helps: before it, pushed
 * data counts as uncompressed.
 */
static bool make_room(struct gmt_stream *stream, uint32_t kind, uint64_t bytes)
{
	if (has_room(stream, kind, bytes))
		return true;
	if (stream->part == GMT_STREAM_BATCH ||
		gmt_sink_pushed_bytes(stream->sink) == stream->synced_pushed_bytes)
		return false;
	sync_point(stream);
	return has_room(stream, kind, bytes);
}

static void put_block(struct gmt_stream *stream, const void *bytes, uint32_t length)
{
	if (!gmt_journal_has_room(&stream->journal, length))
		sync_point(stream);

	bool is_safe = gmt_journal_stage(&stream->journal, GMT_JOURNAL_BLOCK, bytes, length);
	gmt_journal_commit(&stream->journal);
	push(stream, bytes, length);
	/* No block is larger than the journal. If one were, this would make it safe. */
	if (!is_safe)
		sync_point(stream);
}

/*
 * Returns whether other rows refer to rows of this kind. They are written only once, so a full file
 * must keep them. Events that are written later, when there is room again, also refer to them.
 */
static bool is_referred_to(uint32_t kind)
{
	return kind == GMT_RECORD_API || kind == GMT_RECORD_THREAD || kind == GMT_RECORD_MODULE ||
		kind == GMT_RECORD_CODE || kind == GMT_RECORD_FRAME || kind == GMT_RECORD_FRAMES ||
		kind == GMT_RECORD_STACK || kind == GMT_RECORD_NAME;
}

/*
 * Keeps a block until there is room. Such blocks are few, because a full file accepts no batch. But
 * threads and modules may appear without end, so there is a limit.
 */
static void add_waiting(struct gmt_stream *stream, const void *block, uint32_t length)
{
	uint8_t *to;

	if (stream->waiting.count + length > WAITING_BYTES ||
		!gmt_vec_reserve(&stream->waiting, sizeof(length) + length))
		return;
	to = stream->waiting.items + stream->waiting.count;
	memcpy(to, &length, sizeof(length));
	memcpy(to + sizeof(length), block, length);
	stream->waiting.count += sizeof(length) + length;
}

/* Writes the waiting blocks. Returns false if there is still not enough room for all of them. */
static bool put_waiting(struct gmt_stream *stream)
{
	uint8_t *items = stream->waiting.items;
	size_t at = 0;
	uint32_t length;

	while (at < stream->waiting.count) {
		memcpy(&length, items + at, sizeof(length));
		if (!make_room(stream, GMT_RECORD_STACK, length))
			break;
		put_block(stream, items + at + sizeof(length), length);
		at += sizeof(length) + length;
	}
	stream->waiting.count -= at;
	/* The rows are already encoded, so the description now claims all kinds, devices and stamps. */
	if (at)
		stream->member = (struct gmt_member_description){ 0, UINT64_MAX, UINT64_MAX, UINT64_MAX,
			stream->member.clock };
	if (stream->waiting.count)
		memmove(items, items + at, stream->waiting.count);
	else if (at)
		gmt_vec_fini(&stream->waiting);
	return !stream->waiting.count;
}

static void write_rows(void *context, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_stream *stream = context;
	struct gmt_error error;
	enum gmt_status status = gmt_encode_rows(&stream->encoder, kind, rows, count, &error);
	const void *block = stream->encoder.block.items;
	uint32_t length = (uint32_t)stream->encoder.block.count;

	errno = ENOMEM;
	check(stream, status, &error);
	if (status)
		return;

	gmt_member_description_add(&stream->member, gmt_record_info(kind), rows, count);

	bool may_wait = stream->part == GMT_STREAM_ANY && is_referred_to(kind);

	if ((may_wait && !put_waiting(stream)) || !make_room(stream, kind, length)) {
		stream->is_full = true;
		if (may_wait)
			add_waiting(stream, block, length);
		return;
	}
	if (stream->part == GMT_STREAM_BATCH) {
		gmt_journal_stage(&stream->journal, GMT_JOURNAL_BLOCK, block, length);
		stream->staged_bytes += length;
	} else {
		put_block(stream, block, length);
	}
}

static struct gmt_depot_entry *find_entry(void *depot, uint32_t id, enum gmt_depot_kind kind)
{
	(void)kind; /* the code that interned the entry knows its kind */
	return gmt_depot_get(depot, id);
}

/* Returns the maximum size of a batch of `count` events in the journal. */
static uint64_t most_bytes(uint32_t count)
{
	/* Events have the most fields. */
	uint64_t fields = gmt_record_info(GMT_RECORD_EVENT)->field_count;
	uint64_t overhead = sizeof(struct gmt_journal_entry) + GMT_BLOCK_HEADER_BYTES + 8 +
		fields * GMT_VARINT_MAX_BYTES;

	return count * fields * GMT_VARINT_MAX_BYTES + (GMT_RING_ROWS_BLOCKS + 1) * overhead;
}

/* Handles an event that is about to be written; again, if its batch had to wait. */
static void note_event(struct gmt_stream *stream, const struct gmt_ring_event *event)
{
	if (event->kind >= GMT_RING_MARK)
		return;
	gmt_process_metadata_api(&stream->metadata, event->api);
	if (event->layer == GMT_LAYER_TORCH)
		gmt_snapshots_note_usage(event->device, event->reserved_bytes);
}

/*
 * Handles a batch when the file is full: it stays in its ring, or is removed and dropped. Returns
 * false if it stays. Only events count as lost. Marks and other rows are dropped without a count,
 * because they mean nothing without events.
 */
static bool drop_batch(struct gmt_stream *stream, const struct gmt_ring_event *batch,
	uint32_t count)
{
	gmt_journal_drop(&stream->journal);
	stream->staged_bytes = 0;
	if (stream->room_may_come)
		return false;
	for (uint32_t i = 0; i < count; i++)
		stream->lost_events += batch[i].kind < GMT_RING_MARK;
	stream->batch_at = gmt_journal_commit(&stream->journal);
	return true;
}

bool gmt_stream_events(struct gmt_stream *stream, uint32_t slot, const struct gmt_ring *ring,
	const struct gmt_ring_event *batch, uint32_t count)
{
	struct gmt_journal_position position = {
		.slot = slot,
		.thread = ring->thread,
		.consumed = gmt_ring_position_after(ring, count),
	};
	bool has_steps = false;

	stream->staged_bytes = 0;
	if (stream->is_full && !stream->has_failed)
		return drop_batch(stream, batch, count);
	for (uint32_t i = 0; i < count; i++) {
		note_event(stream, &batch[i]);
		has_steps |= gmt_stream_is_step(&batch[i]);
	}
	gmt_ring_rows_fill(&stream->rows, &stream->definitions, batch, count, ring->thread);
	gmt_definitions_flush(&stream->definitions, write_rows, stream);
	/*
	 * A batch itself contains no sync point. Without one here, a round that empties many rings
	 * would fill a small file with data that still counts as uncompressed.
	 */
	if (!gmt_journal_has_room(&stream->journal, most_bytes(count)) ||
		(stream->limit_bytes != UINT64_MAX &&
			gmt_sink_pushed_bytes(stream->sink) - stream->synced_pushed_bytes >=
				sync_bytes(stream))) {
		sync_point(stream);
		/*
		 * Ends a large member here, because the file contains everything that it describes. One
		 * round of the writer may bring many megabytes.
		 */
		gmt_stream_end_large_member(stream);
	}
	if (!stream->has_failed && !put_waiting(stream)) {
		stream->is_full = true;
		return drop_batch(stream, batch, count);
	}
	if (stream->has_failed)
		return false;

	stream->part = GMT_STREAM_BATCH;
	gmt_ring_rows_write(&stream->rows, write_rows, stream);
	stream->part = GMT_STREAM_ANY;
	if (stream->has_failed) {
		gmt_journal_drop(&stream->journal);
		return false;
	}
	if (stream->is_full)
		return drop_batch(stream, batch, count);
	gmt_journal_stage(&stream->journal, GMT_JOURNAL_POSITION, &position, sizeof(position));
	stream->batch_at = gmt_journal_commit(&stream->journal);
	stream->events += stream->rows.event_count;
	for (uint32_t i = 0; has_steps && i < count; i++)
		if (gmt_stream_is_step(&batch[i]))
			gmt_stream_count_step(stream, &batch[i]);
	return true;
}

void gmt_stream_events_taken(struct gmt_stream *stream)
{
	const void *block;
	uint32_t length;

	stream->staged_bytes = 0;
	while ((block = gmt_journal_next(&stream->journal, &stream->batch_at, &length)) != NULL)
		push(stream, block, length);
}

/* Writes pauses and resumes. Any thread may have caused them, even one of another process. */
static void write_pauses(struct gmt_stream *stream)
{
	struct gmt_mark row = { .source = GMT_MARK_SOURCE_RECORDER };
	bool is_paused;

	while (gmt_event_next_pause_change(&stream->changes_seen, &row.stamp, &is_paused)) {
		row.kind = is_paused ? GMT_MARK_KIND_PAUSE : GMT_MARK_KIND_RESUME;
		if (is_paused != stream->was_paused)
			write_rows(stream, GMT_RECORD_MARK, &row, 1);
		stream->was_paused = is_paused;
	}
}

void gmt_stream_thread(struct gmt_stream *stream, const struct gmt_ring *ring)
{
	stream->threads++;
	gmt_process_metadata_thread(&stream->metadata, ring);
}

void gmt_stream_drop(struct gmt_stream *stream, uint32_t thread, const char *reason, uint64_t count,
	uint64_t before)
{
	stream->dropped += count - before;
	gmt_process_metadata_write_drops(&stream->metadata, thread, reason, count);
}

void gmt_stream_sync(struct gmt_stream *stream)
{
	/*
	 * While the file is full, report losses only when they have doubled: a report takes room too.
	 */
	if (stream->is_full && stream->reported_lost_events &&
		stream->lost_events < 2 * stream->reported_lost_events)
		return;
	if (stream->lost_events > stream->reported_lost_events) {
		stream->reported_lost_events = stream->lost_events;
		gmt_process_metadata_write_drops(&stream->metadata, 0, "the file reached max_size",
			stream->lost_events);
	}
	write_pauses(stream);
	gmt_process_metadata_update(&stream->metadata);
	sync_point(stream);
}

bool gmt_stream_open(struct gmt_stream *stream, struct gmt_recording_state *recording,
	uint64_t limit_bytes, void (*failed)(void))
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_error error;

	memset(stream, 0, sizeof(*stream));
	stream->recording = recording;
	gmt_journal_init(&stream->journal, gmt_recording_memory_journal(recording->memory),
		recording->memory->header->journal_bytes);
	stream->failed = failed;
	stream->limit_bytes = limit_bytes;
	gmt_member_description_clear(&stream->member);
	stream->definitions.find = find_entry;
	stream->definitions.depot = recording->depot;
	stream->metadata.recording = recording;
	stream->metadata.write = write_rows;
	stream->metadata.context = stream;

	enum gmt_status status = gmt_sink_open(recording->fd, GZIP_LEVEL, &stream->sink, &error);
	if (!status) {
		gmt_sink_on_stall(stream->sink, recording->wait_for_room, NULL);
		gmt_encode_file_header(header);
		status = gmt_sink_push(stream->sink, header, sizeof(header), &error);
	}
	check(stream, status, &error);
	if (!stream->sink)
		return false;
	gmt_process_metadata_begin(&stream->metadata);
	gmt_stream_sync(stream);
	return true;
}

bool gmt_stream_is_sync_due(const struct gmt_stream *stream)
{
	return gmt_clock_monotonic_ns() - stream->synced_ns >= (uint64_t)SYNC_MS * 1000000 ||
		gmt_sink_pushed_bytes(stream->sink) - stream->synced_pushed_bytes >= sync_bytes(stream);
}

bool gmt_stream_close(struct gmt_stream *stream)
{
	struct gmt_error error;

	gmt_process_metadata_end(&stream->metadata);
	stream->reported_lost_events = 0;
	gmt_stream_sync(stream);

	struct gmt_end row = { .stamp = gmt_clock_stamp(), .events = stream->events };
	write_rows(stream, GMT_RECORD_END, &row, 1);
	errno = 0;
	check(stream, gmt_sink_close(stream->sink, &error), &error);
	stream->sink = NULL;
	gmt_encoder_fini(&stream->encoder);
	gmt_encoder_fini(&stream->sync_encoder);
	gmt_definitions_fini(&stream->definitions);
	gmt_vec_fini(&stream->waiting);
	return !stream->has_failed;
}
