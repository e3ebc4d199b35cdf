/* SPDX-License-Identifier: MIT */
#include "record/stream.h"

#include <string.h>

#include "diag.h"
#include "record/clock.h"
#include "wire/event_totals.h"

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

static void convert(struct gmt_stream *stream, const struct gmt_ring_event *event, uint32_t thread, struct gmt_event *row)
{
	bool is_torch = event->layer == GMT_LAYER_TORCH;

	*row = (struct gmt_event){
		.stamp = event->stamp,
		.thread = thread,
		.kind = event->kind,
		.layer = event->layer,
		.space = event->space,
		.device = event->device,
		.api = event->api,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stack = gmt_definitions_stack(&stream->definitions, event->stack),
		.frames = gmt_definitions_frames(&stream->definitions, event->frames),
		.result = event->result,
		.stream = is_torch ? 0 : event->stream,
		.allocated_bytes = is_torch ? (int64_t)event->allocated_bytes : 0,
		.reserved_bytes = is_torch ? (int64_t)event->reserved_bytes : 0,
		.object = is_torch ? 0 : event->object,
		.context = event->context,
	};
}

static void convert_mark(struct gmt_stream *stream, const struct gmt_ring_event *event, uint32_t thread, struct gmt_mark *row)
{
	*row = (struct gmt_mark){
		.stamp = event->stamp,
		.thread = thread,
		.kind = event->layer,
		.source = event->space,
		.name = gmt_definitions_name(&stream->definitions, event->stack),
		.object = event->address,
	};
}

static void convert_oom(const struct gmt_ring_event *event, uint32_t thread, struct gmt_oom *row)
{
	*row = (struct gmt_oom){
		.stamp = event->stamp,
		.thread = thread,
		.device = event->device,
		.free_bytes = event->address,
		.total_bytes = event->size_bytes,
	};
}

static void convert_sample(const struct gmt_ring_event *event, struct gmt_sample *row)
{
	*row = (struct gmt_sample){
		.stamp = event->stamp,
		.begin_stamp = event->object,
		.device = (uint16_t)event->device,
		.known = (uint16_t)event->result,
		.free_bytes = event->address,
		.total_bytes = event->size_bytes,
	};
}

void gmt_stream_events(struct gmt_stream *stream, const struct gmt_ring_event *batch, uint32_t count, uint32_t thread)
{
	uint32_t events = 0, marks = 0, ooms = 0, samples = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct gmt_ring_event *event = &batch[i];

		if (event->kind == GMT_RING_MARK) {
			convert_mark(stream, event, thread, &stream->marks[marks++]);
		} else if (event->kind == GMT_RING_OOM) {
			convert_oom(event, thread, &stream->ooms[ooms++]);
		} else if (event->kind == GMT_RING_SAMPLE) {
			convert_sample(event, &stream->samples[samples++]);
		} else {
			convert(stream, event, thread, &stream->rows[events++]);
			gmt_facts_api(&stream->facts, event->api);
		}
	}
	gmt_definitions_flush(&stream->definitions, write_rows, stream);
	gmt_event_totals_to_differences(stream->rows, events);
	if (events)
		write_rows(stream, GMT_RECORD_EVENT, stream->rows, events);
	if (marks)
		write_rows(stream, GMT_RECORD_MARK, stream->marks, marks);
	if (ooms)
		write_rows(stream, GMT_RECORD_OOM, stream->ooms, ooms);
	if (samples)
		write_rows(stream, GMT_RECORD_SAMPLE, stream->samples, samples);
	stream->events += events;
}

void gmt_stream_sync(struct gmt_stream *stream)
{
	struct gmt_error error;

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
