/* SPDX-License-Identifier: MIT */
/*
 * A trace of Perfetto: steps and phases as slices, curves as counters, refused requests as instants
 * with their stacks, and heap dumps. Times are those of the monotonic clock. A snapshot of the
 * clocks lets the viewer place other traces of the same machine on the same axis.
 */
#include <stdlib.h>

#include "base/text.h"
#include "reader/load/clock.h"
#include "render/export/trace/perfetto.h"

/* TrackDescriptor, and the messages in it. */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	COUNTER_UNIT = 3,
	UNIT_BYTES = 3,
};

/* TrackEvent, and the messages in it. */
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_VALUE = 30,
	EVENT_CALLSTACK = 56,
	ANNOTATION_NUMBER = 3,
	ANNOTATION_TEXT = 6,
	ANNOTATION_NAME = 10,
};
enum event_type { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };

/* Numbers of tracks, of which each trace of a process has its own. */
enum { PROCESS, REFUSALS, CURVES = 16, SLICES = 1 << 20 };

static struct gmt_perfetto *perfetto_of(struct gmt_trace *trace)
{
	return (struct gmt_perfetto *)trace;
}

/* A number that no track of another process has, so that traces can be merged. */
static uint64_t track_uuid(const struct gmt_perfetto *perfetto, uint64_t track)
{
	const struct gmt_process *process = &perfetto->trace.export->recording->process;

	return gmt_hash_u64(process->start_time_ns ^ (uint64_t)process->pid << 32) + track;
}

/* Writes the description of a track. `detail` is the message in field `detail_field`; 0: none. */
static void write_track(struct gmt_perfetto *perfetto, uint64_t track, const char *name,
	uint32_t detail_field, const struct gmt_protobuf *detail)
{
	struct gmt_protobuf packet = { 0 }, descriptor = { 0 };

	gmt_protobuf_number(&descriptor, TRACK_UUID, track_uuid(perfetto, track));
	if (track != PROCESS) {
		gmt_protobuf_text(&descriptor, TRACK_NAME, name);
		gmt_protobuf_number(&descriptor, TRACK_PARENT, track_uuid(perfetto, PROCESS));
	}
	if (detail_field)
		gmt_protobuf_message(&descriptor, detail_field, detail);
	gmt_protobuf_message(&packet, GMT_PERFETTO_TRACK_DESCRIPTOR, &descriptor);
	gmt_perfetto_write(perfetto, &packet);
	gmt_vec_fini(&packet.bytes);
	gmt_vec_fini(&descriptor.bytes);
}

static void write_process(struct gmt_perfetto *perfetto)
{
	const struct gmt_recording *recording = perfetto->trace.export->recording;
	struct gmt_protobuf process = { 0 };

	gmt_protobuf_number(&process, PROCESS_PID, recording->process.pid);
	gmt_protobuf_text(&process, PROCESS_NAME, gmt_text_base_name(recording->executable));
	write_track(perfetto, PROCESS, NULL, TRACK_PROCESS, &process);
	gmt_vec_fini(&process.bytes);
}

static void name_track(struct gmt_trace *trace, const char *name, uint32_t track)
{
	write_track(perfetto_of(trace), SLICES + (uint64_t)track, name, 0, NULL);
}

/* Begins an event on a track. write_event ends it. */
static struct gmt_protobuf *begin_event(struct gmt_perfetto *perfetto, enum event_type type,
	uint64_t track)
{
	struct gmt_protobuf *event = &perfetto->event;

	gmt_protobuf_clear(event);
	gmt_protobuf_number(event, EVENT_TYPE, type);
	gmt_protobuf_number(event, EVENT_TRACK, track_uuid(perfetto, track));
	return event;
}

static void write_event(struct gmt_perfetto *perfetto, uint64_t time_ns)
{
	struct gmt_protobuf *packet = &perfetto->packet;

	gmt_protobuf_number(packet, GMT_PERFETTO_TIMESTAMP, perfetto->start_ns + time_ns);
	gmt_protobuf_message(packet, GMT_PERFETTO_TRACK_EVENT, &perfetto->event);
	gmt_perfetto_write(perfetto, packet);
}

static void write_slice(struct gmt_trace *trace, const char *name, struct gmt_trace_span span,
	uint32_t track)
{
	struct gmt_perfetto *perfetto = perfetto_of(trace);

	gmt_protobuf_text(begin_event(perfetto, BEGIN, SLICES + (uint64_t)track), EVENT_NAME, name);
	write_event(perfetto, span.begin_ns);
	begin_event(perfetto, END, SLICES + (uint64_t)track);
	write_event(perfetto, span.end_ns);
}

/* Returns the track of an account's curve. */
static uint64_t track_of_curve(const struct gmt_account *account)
{
	return CURVES + ((uint64_t)(uint16_t)account->device << 3 | account->layer);
}

/* Describes the track of a curve, the first time. */
static void describe_curve(struct gmt_perfetto *perfetto, const struct gmt_account *account)
{
	uint64_t track = track_of_curve(account);
	struct gmt_protobuf counter = { 0 };

	if (track >= perfetto->known_curves.count) {
		/* The reserved memory is zeroed. */
		if (!gmt_vec_reserve(&perfetto->known_curves, track + 1 - perfetto->known_curves.count)) {
			perfetto->failed = true;
			return;
		}
		perfetto->known_curves.count = track + 1;
	}
	if (perfetto->known_curves.items[track])
		return;
	perfetto->known_curves.items[track] = true;
	gmt_protobuf_number(&counter, COUNTER_UNIT, UNIT_BYTES);
	write_track(perfetto, track, gmt_trace_curve(account).text, TRACK_COUNTER, &counter);
	gmt_vec_fini(&counter.bytes);
}

static void write_value(struct gmt_trace *trace, const struct gmt_account *account,
	uint64_t time_ns, uint64_t bytes)
{
	struct gmt_perfetto *perfetto = perfetto_of(trace);

	describe_curve(perfetto, account);
	gmt_protobuf_number(begin_event(perfetto, COUNTER, track_of_curve(account)), EVENT_VALUE,
		bytes);
	write_event(perfetto, time_ns);
}

/* Adds an annotation: a text, or a number if `text` is NULL. */
static void annotate(struct gmt_protobuf *event, const char *name, const char *text,
	uint64_t number)
{
	struct gmt_protobuf annotation = { 0 };

	gmt_protobuf_text(&annotation, ANNOTATION_NAME, name);
	if (text)
		gmt_protobuf_text(&annotation, ANNOTATION_TEXT, text);
	else
		gmt_protobuf_number(&annotation, ANNOTATION_NUMBER, number);
	gmt_protobuf_message(event, EVENT_ANNOTATION, &annotation);
	gmt_vec_fini(&annotation.bytes);
}

static void write_refusal(struct gmt_trace *trace, const struct gmt_recording_event *event,
	int32_t device, uint64_t time_ns)
{
	struct gmt_perfetto *perfetto = perfetto_of(trace);
	const struct gmt_traces *traces = trace->export->traces;
	uint32_t stack = traces->stack_of_trace[event->trace];
	struct gmt_protobuf *instant = begin_event(perfetto, INSTANT, REFUSALS);
	char *line = gmt_trace_stack(traces, stack);

	gmt_protobuf_text(instant, EVENT_NAME, "refused request");
	gmt_protobuf_number(instant, EVENT_CALLSTACK, stack + UINT64_C(1));
	annotate(instant, "layer", gmt_layer_name(event->layer), 0);
	annotate(instant, "device", gmt_device_text(device).text, 0);
	annotate(instant, "bytes", NULL, event->size_bytes);
	annotate(instant, "result", NULL, event->result);
	annotate(instant, "stack", line ? line : "", 0);
	write_event(perfetto, time_ns);
	free(line);
}

/* Returns the start of the recording on the monotonic clock; 0 if that is not recorded. */
static uint64_t monotonic_start_ns(const struct gmt_recording *recording)
{
	const struct gmt_recording_clock *clock = recording->clocks.items;
	uint64_t time_ns = recording->clocks.count ? gmt_clock_time_ns(recording, clock->stamp) : 0;

	return recording->clocks.count && clock->monotonic_ns > time_ns ? clock->monotonic_ns - time_ns
																	: 0;
}

enum gmt_status gmt_export_perfetto(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	static const struct gmt_trace_form form = { name_track, write_slice, write_value,
		write_refusal };
	struct gmt_perfetto perfetto = {
		.trace = gmt_trace_begin(export, &form),
		.file = file,
		.start_ns = monotonic_start_ns(export->recording),
	};
	enum gmt_status status;

	gmt_perfetto_write_clocks(&perfetto);
	write_process(&perfetto);
	write_track(&perfetto, REFUSALS, "refused requests", 0, NULL);
	gmt_perfetto_stacks(&perfetto);
	gmt_perfetto_heap_dumps(&perfetto);
	status = gmt_trace_write(&perfetto.trace, error);
	gmt_vec_fini(&perfetto.known_curves);
	gmt_vec_fini(&perfetto.trace_field.bytes);
	gmt_vec_fini(&perfetto.packet.bytes);
	gmt_vec_fini(&perfetto.event.bytes);
	if (!status && perfetto.failed)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return status;
}
