/* SPDX-License-Identifier: MIT */
/*
 * A trace in Chrome's format: JSON with a list of events. Times are microseconds after a base time,
 * which is that of PyTorch's profiler: the events of both files may be put in one list.
 *
 *   M   the name of a process or of a track
 *   X   a slice with its duration: a step or a phase. Slices of one track nest
 *   C   the value of a counter from now on: live memory of a layer on a device
 *   i   an instant: a request that was refused
 */
#include <stdlib.h>

#include "base/text.h"
#include "render/export/frames.h"
#include "render/export/trace/trace.h"
#include "render/json.h"

/* PyTorch's profiler counts from the last multiple of three months since 1970. */
#define BASE_INTERVAL_NS (UINT64_C(7889238) * 1000000000)

/*
 * The number of a track is written as that of a thread. It is above all thread ids of Linux, so
 * that a track never is one with a thread of another file.
 */
enum { FIRST_TRACK = 1 << 30, TRACK_OF_REFUSALS = 1, FIRST_TRACK_OF_SLICES = 2 };

struct chrome {
	struct gmt_trace trace; /* the first member: the functions below cast it back */
	struct gmt_json json;
	uint64_t start_ns; /* start of the recording, after the base time */
};

static struct chrome *chrome_of(struct gmt_trace *trace)
{
	return (struct chrome *)trace;
}

static void write_time(struct chrome *chrome, const char *key, uint64_t time_ns)
{
	gmt_json_key(&chrome->json, key);
	gmt_json_thousandths(&chrome->json, time_ns);
}

/* Begins an event. The caller may add keys, and ends the object. */
static void begin(struct chrome *chrome, const char *kind, const char *name, uint64_t time_ns,
	uint32_t track)
{
	struct gmt_json *json = &chrome->json;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "ph", kind);
	gmt_json_key_text(json, "name", name);
	gmt_json_key_u64(json, "pid", chrome->trace.export->recording->process.pid);
	gmt_json_key_u64(json, "tid", (uint64_t)track + FIRST_TRACK);
	write_time(chrome, "ts", chrome->start_ns + time_ns);
}

/* Writes the name of a track ("thread_name") or of the process ("process_name"). */
static void write_name(struct chrome *chrome, const char *what, const char *name, uint32_t track)
{
	begin(chrome, "M", what, 0, track);
	gmt_json_key_object(&chrome->json, "args");
	gmt_json_key_text(&chrome->json, "name", name);
	gmt_json_end_object(&chrome->json);
	gmt_json_end_object(&chrome->json);
}

static void name_track(struct gmt_trace *trace, const char *name, uint32_t track)
{
	write_name(chrome_of(trace), "thread_name", name, track + FIRST_TRACK_OF_SLICES);
}

static void write_slice(struct gmt_trace *trace, const char *name, struct gmt_trace_span span,
	uint32_t track)
{
	struct chrome *chrome = chrome_of(trace);

	begin(chrome, "X", name, span.begin_ns, track + FIRST_TRACK_OF_SLICES);
	write_time(chrome, "dur", span.end_ns - span.begin_ns);
	gmt_json_end_object(&chrome->json);
}

static void write_value(struct gmt_trace *trace, const struct gmt_account *account,
	uint64_t time_ns, uint64_t bytes)
{
	struct chrome *chrome = chrome_of(trace);

	begin(chrome, "C", gmt_trace_curve(account).text, time_ns, 0);
	gmt_json_key_object(&chrome->json, "args");
	gmt_json_key_u64(&chrome->json, "bytes", bytes);
	gmt_json_end_object(&chrome->json);
	gmt_json_end_object(&chrome->json);
}

static void write_refusal(struct gmt_trace *trace, const struct gmt_recording_event *event,
	int32_t device, uint64_t time_ns)
{
	const struct gmt_traces *traces = trace->export->traces;
	char *stack = gmt_trace_stack(traces, traces->stack_of_trace[event->trace]);
	struct chrome *chrome = chrome_of(trace);
	struct gmt_json *json = &chrome->json;

	begin(chrome, "i", "refused request", time_ns, TRACK_OF_REFUSALS);
	gmt_json_key_text(json, "s", "p");
	gmt_json_key_object(json, "args");
	gmt_json_key_text(json, "layer", gmt_layer_name(event->layer));
	gmt_json_key_text(json, "device", gmt_device_text(device).text);
	gmt_json_key_u64(json, "bytes", event->size_bytes);
	gmt_json_key_u64(json, "result", event->result);
	gmt_json_key_text(json, "stack", stack);
	gmt_json_end_object(json);
	gmt_json_end_object(json);
	free(stack);
}

enum gmt_status gmt_export_chrome(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	static const struct gmt_trace_form form = { name_track, write_slice, write_value,
		write_refusal };
	const struct gmt_recording *recording = export->recording;
	uint64_t start_ns = recording->process.start_time_ns;
	uint64_t base_ns = start_ns / BASE_INTERVAL_NS * BASE_INTERVAL_NS;
	struct chrome chrome = {
		.trace = gmt_trace_begin(export, &form),
		.json = { .file = file },
		.start_ns = start_ns - base_ns,
	};
	struct gmt_json *json = &chrome.json;
	enum gmt_status status;

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "schemaVersion", 1);
	gmt_json_key_text(json, "displayTimeUnit", "ms");
	gmt_json_key_u64(json, "baseTimeNanoseconds", base_ns);
	gmt_json_key_text(json, "traceName", gmt_text_base_name(recording->path));
	gmt_json_key_array(json, "traceEvents");
	write_name(&chrome, "process_name", gmt_text_base_name(recording->executable), 0);
	write_name(&chrome, "thread_name", "refused requests", TRACK_OF_REFUSALS);
	status = gmt_trace_write(&chrome.trace, error);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	fputc('\n', file);
	return status;
}
