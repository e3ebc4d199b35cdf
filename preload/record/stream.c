/* SPDX-License-Identifier: MIT */
#include "record/stream.h"

#include <string.h>

#include "diag.h"
#include "record/clock.h"
#include "record/commit.h"
#include "record/snapshots.h"

enum {
	SYNC_MS = 700, /* and at most a sleep of the writer's later: a sync point every second */
	SYNC_BYTES = 1 << 20,
	GZIP_LEVEL = 1,
};

/* A failed write is told once; what follows is swallowed by the sink. */
static void check(struct gmt_stream *stream, enum gmt_status status, const struct gmt_error *error)
{
	if (!status || stream->has_failed)
		return;
	stream->has_failed = true;
	gmt_diag_warn("%s: %s; recording has stopped, the program goes on", stream->recording->path, error->text);
	stream->failed();
}

static void write_rows(void *context, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_stream *stream = context;
	struct gmt_error error;
	enum gmt_status status = gmt_encode_rows(&stream->encoder, kind, rows, count, &error);

	if (!status)
		status = gmt_sink_push(stream->sink, stream->encoder.block.items, stream->encoder.block.count, &error);
	check(stream, status, &error);
}

static struct gmt_depot_entry *find_entry(void *depot, uint32_t id, enum gmt_depot_kind kind)
{
	(void)kind; /* who interned it knows which it is */
	return gmt_depot_get(depot, id);
}

void gmt_stream_events(struct gmt_stream *stream, const struct gmt_ring_event *batch, uint32_t count, uint32_t thread)
{
	for (uint32_t i = 0; i < count; i++) {
		if (batch[i].kind >= GMT_RING_MARK)
			continue;
		gmt_facts_api(&stream->facts, batch[i].api);
		if (batch[i].layer == GMT_LAYER_TORCH)
			gmt_snapshots_see_use(batch[i].device, batch[i].reserved_bytes);
	}
	gmt_ring_rows_fill(&stream->rows, &stream->definitions, batch, count, thread);
	gmt_definitions_flush(&stream->definitions, write_rows, stream);
	gmt_ring_rows_write(&stream->rows, write_rows, stream);
	stream->events += stream->rows.event_count;
}

/* Who paused it may be any thread, or none of this process. */
static void write_pauses(struct gmt_stream *stream)
{
	struct gmt_mark row = { .source = GMT_MARK_SOURCE_RECORDER };
	bool is_paused;

	while (gmt_commit_next_change(&stream->changes_seen, &row.stamp, &is_paused)) {
		row.kind = is_paused ? GMT_MARK_KIND_PAUSE : GMT_MARK_KIND_RESUME;
		if (is_paused != stream->was_paused)
			write_rows(stream, GMT_RECORD_MARK, &row, 1);
		stream->was_paused = is_paused;
	}
}

void gmt_stream_thread(struct gmt_stream *stream, const struct gmt_ring *ring)
{
	stream->threads++;
	gmt_facts_thread(&stream->facts, ring);
}

void gmt_stream_drop(struct gmt_stream *stream, uint32_t thread, const char *reason, uint64_t count, uint64_t before)
{
	stream->dropped += count - before;
	gmt_facts_drop(&stream->facts, thread, reason, count);
}

void gmt_stream_sync(struct gmt_stream *stream)
{
	struct gmt_error error;

	write_pauses(stream);
	gmt_facts_update(&stream->facts);

	struct gmt_sync row = { .stamp = gmt_clock_stamp(), .events = stream->events };
	write_rows(stream, GMT_RECORD_SYNC, &row, 1);
	check(stream, gmt_sink_sync(stream->sink, &error), &error);
	stream->synced_bytes = gmt_sink_pushed_bytes(stream->sink);
	stream->synced_ns = gmt_clock_monotonic_ns();
}

bool gmt_stream_open(struct gmt_stream *stream, struct gmt_recording *recording, void (*failed)(void))
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_error error;

	memset(stream, 0, sizeof(*stream));
	stream->recording = recording;
	stream->failed = failed;
	stream->definitions.find = find_entry;
	stream->definitions.depot = recording->depot;
	stream->facts.recording = recording;
	stream->facts.write = write_rows;
	stream->facts.context = stream;

	enum gmt_status status = gmt_sink_open(recording->fd, GZIP_LEVEL, &stream->sink, &error);
	if (!status) {
		gmt_encode_file_header(header);
		status = gmt_sink_push(stream->sink, header, sizeof(header), &error);
	}
	check(stream, status, &error);
	if (!stream->sink)
		return false;
	gmt_facts_begin(&stream->facts);
	gmt_stream_sync(stream);
	return true;
}

bool gmt_stream_is_sync_due(const struct gmt_stream *stream)
{
	return gmt_clock_monotonic_ns() - stream->synced_ns >= (uint64_t)SYNC_MS * 1000000 ||
		gmt_sink_pushed_bytes(stream->sink) - stream->synced_bytes >= SYNC_BYTES;
}

void gmt_stream_close(struct gmt_stream *stream)
{
	struct gmt_error error;

	gmt_facts_end(&stream->facts);
	gmt_stream_sync(stream);

	struct gmt_end row = { .stamp = gmt_clock_stamp(), .events = stream->events };
	write_rows(stream, GMT_RECORD_END, &row, 1);
	check(stream, gmt_sink_close(stream->sink, &error), &error);
	stream->sink = NULL;
	gmt_encoder_fini(&stream->encoder);
	gmt_definitions_fini(&stream->definitions);
}
