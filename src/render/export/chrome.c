/* SPDX-License-Identifier: MIT */
/*
 * A trace in Chrome's format: JSON with a list of events. Times are microseconds after a base time,
 * which is that of PyTorch's profiler: the events of both files may be put in one list.
 *
 *   M   the name of a process or of a track
 *   X   a slice with its duration: a step or a phase. Slices of one track nest
 *   C   the value of a counter from now on: live memory of a layer on a device
 *   i   an instant: a request that was refused
 *
 * A counter has up to two values in each of INTERVALS equal intervals: the highest and the last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "render/export/chrome_slices.h"
#include "render/export/export_replay.h"
#include "render/export/frames.h"

/* PyTorch's profiler counts from the last multiple of three months since 1970. */
#define BASE_INTERVAL_NS (UINT64_C(7889238) * 1000000000)

enum { INTERVALS = 65536 };

/* A counter's values since they were last written. */
struct counter {
	bool is_changed;
	uint64_t max_bytes, max_ns;
	uint64_t last_bytes, last_ns;
};

/* A value to write. */
struct point {
	uint64_t time_ns, bytes;
	uint32_t account;
	uint32_t order; /* of points at the same time */
};

struct writer {
	struct gmt_chrome chrome;
	GMT_VEC(struct counter) counters; /* by account */
	GMT_VEC(uint32_t) changed; /* accounts */
	GMT_VEC(struct point) points;
	uint64_t interval_ns, interval; /* the length of an interval, and the number of this one */
};

static int compare_points(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static bool add_point(struct writer *writer, uint32_t account, uint64_t time_ns, uint64_t bytes)
{
	struct point *point = gmt_vec_push(&writer->points);

	if (!point)
		return false;
	*point = (struct point){ time_ns, bytes, account, (uint32_t)writer->points.count };
	return true;
}

static void write_point(struct writer *writer, const struct gmt_replay *replay,
	const struct point *point)
{
	const struct gmt_account *account = &replay->accounting.accounts.items[point->account];
	struct gmt_json *json = &writer->chrome.json;
	char name[120];

	snprintf(name, sizeof(name), "live memory, %s, %s", gmt_layer_name(account->layer),
		gmt_export_device(account->device).text);
	gmt_chrome_begin(&writer->chrome, "C", name, point->time_ns, 0);
	gmt_json_key_object(json, "args");
	gmt_json_key_u64(json, "bytes", point->bytes);
	gmt_json_end_object(json);
	gmt_json_end_object(json);
}

/* Writes the values of the counters that changed, in order of time. */
static bool write_changes(struct writer *writer, const struct gmt_replay *replay)
{
	writer->points.count = 0;
	for (size_t i = 0; i < writer->changed.count; i++) {
		uint32_t account = writer->changed.items[i];
		struct counter *counter = &writer->counters.items[account];

		if (counter->max_bytes > counter->last_bytes &&
			!add_point(writer, account, counter->max_ns, counter->max_bytes))
			return false;
		if (!add_point(writer, account, counter->last_ns, counter->last_bytes))
			return false;
		counter->is_changed = false;
	}
	writer->changed.count = 0;
	if (writer->points.count)
		qsort(writer->points.items, writer->points.count, sizeof(*writer->points.items),
			compare_points);
	for (size_t i = 0; i < writer->points.count; i++)
		write_point(writer, replay, &writer->points.items[i]);
	return true;
}

/* Notes the live memory of an account at a moment. */
static bool note(struct writer *writer, const struct gmt_replay *replay, uint32_t account_id,
	uint64_t time_ns)
{
	const struct gmt_account *account = &replay->accounting.accounts.items[account_id];
	uint64_t interval = time_ns / writer->interval_ns;
	struct counter *counter;
	uint32_t *changed;

	if (!gmt_profile_includes(&writer->chrome.export->choice, account->layer, account->device))
		return true;
	if (interval != writer->interval && !write_changes(writer, replay))
		return false;
	writer->interval = interval;
	if (account_id >= writer->counters.count) {
		/* The reserved memory is zeroed. */
		if (!gmt_vec_reserve(&writer->counters, account_id + 1 - writer->counters.count))
			return false;
		writer->counters.count = account_id + 1;
	}
	counter = &writer->counters.items[account_id];
	if (!counter->is_changed) {
		if (!(changed = gmt_vec_push(&writer->changed)))
			return false;
		*changed = account_id;
		*counter = (struct counter){ .is_changed = true };
	}
	if (account->live_bytes >= counter->max_bytes) {
		counter->max_bytes = account->live_bytes;
		counter->max_ns = time_ns;
	}
	counter->last_bytes = account->live_bytes;
	counter->last_ns = time_ns;
	return true;
}

static bool note_site(struct writer *writer, const struct gmt_replay *replay, uint32_t site,
	uint64_t stamp)
{
	return note(writer, replay, replay->accounting.sites.items[site].account,
		gmt_clock_time_ns(writer->chrome.export->recording, stamp));
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	return note_site(user, replay, site, event->stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	return note_site(user, replay, block->site, event->stamp);
}

/* Writes a frame after another: "forward (model.py:20) < main (train.py:31)". */
static void write_stack(struct gmt_chrome *chrome, uint32_t stack)
{
	const struct gmt_traces *traces = chrome->export->traces;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	char *line = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&line, &length);

	if (!memory)
		return;
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? " < " : "", memory);
		gmt_export_frame(memory, traces, places[i], "");
	}
	if (!fclose(memory))
		gmt_json_key_text(&chrome->json, "stack", count ? line : GMT_EXPORT_NO_STACK);
	free(line);
}

/* Writes a refused request. */
static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct writer *writer = user;
	struct gmt_chrome *chrome = &writer->chrome;
	bool is_host = gmt_space_side(event->space) == GMT_SIDE_HOST;
	int32_t device = is_host ? GMT_DEVICE_HOST : event->device;

	(void)index;
	if (!gmt_profile_includes(&chrome->export->choice, event->layer, device) ||
		gmt_budget_output_is_cut())
		return true;
	if (!write_changes(writer, replay))
		return false;
	gmt_chrome_begin(chrome, "i", "refused request",
		gmt_clock_time_ns(chrome->export->recording, event->stamp), GMT_CHROME_REFUSALS);
	gmt_json_key_text(&chrome->json, "s", "p");
	gmt_json_key_object(&chrome->json, "args");
	gmt_json_key_text(&chrome->json, "layer", gmt_layer_name(event->layer));
	gmt_json_key_text(&chrome->json, "device", gmt_export_device(device).text);
	gmt_json_key_u64(&chrome->json, "bytes", event->size_bytes);
	gmt_json_key_u64(&chrome->json, "result", event->result);
	write_stack(chrome, chrome->export->traces->stack_of_trace[event->trace]);
	gmt_json_end_object(&chrome->json);
	gmt_json_end_object(&chrome->json);
	return true;
}

/* Adds what the compacted events left. */
static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct writer *writer = user;
	uint64_t time_ns = writer->counters.count ? writer->interval * writer->interval_ns : 0;

	for (size_t i = 0; i < writer->counters.count; i++)
		if (writer->counters.items[i].last_ns > time_ns)
			time_ns = writer->counters.items[i].last_ns;
	for (uint32_t i = 0; i < replay->accounting.accounts.count; i++)
		if (replay->accounting.accounts.items[i].alloc_count && !note(writer, replay, i, time_ns))
			return false;
	return true;
}

/* Ends each curve where the recording ends. */
static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct writer *writer = user;

	for (uint32_t i = 0; i < writer->counters.count; i++)
		if (replay->accounting.accounts.items[i].alloc_count &&
			!note(writer, replay, i, replay->end_time_ns))
			return false;
	return write_changes(writer, replay);
}

static enum gmt_status write_events(struct writer *writer, struct gmt_error *error)
{
	const struct gmt_replay_observer observer = {
		.before = on_before,
		.next_needed_stamp = &gmt_replay_quiet,
		.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED),
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = writer,
	};

	return gmt_export_replay(writer->chrome.export, &observer, error);
}

static enum gmt_status write_all(struct writer *writer, uint64_t base_ns, struct gmt_error *error)
{
	struct gmt_chrome *chrome = &writer->chrome;
	const struct gmt_recording *recording = chrome->export->recording;
	struct gmt_json *json = &chrome->json;
	enum gmt_status status;

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "schemaVersion", 1);
	gmt_json_key_text(json, "displayTimeUnit", "ms");
	gmt_json_key_u64(json, "baseTimeNanoseconds", base_ns);
	gmt_json_key_text(json, "traceName", gmt_export_base_name(recording->path));
	gmt_json_key_array(json, "traceEvents");
	gmt_chrome_name(chrome, "process_name", gmt_export_base_name(recording->executable), 0);
	gmt_chrome_name(chrome, "thread_name", "refused requests", GMT_CHROME_REFUSALS);
	if (gmt_chrome_slices(chrome))
		status = write_events(writer, error);
	else
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	fputc('\n', json->file);
	return status;
}

enum gmt_status gmt_export_chrome(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	uint64_t start_ns = export->recording->process.start_time_ns;
	uint64_t base_ns = start_ns / BASE_INTERVAL_NS * BASE_INTERVAL_NS;
	uint64_t duration_ns = gmt_recording_duration_ns(export->recording);
	struct writer writer = {
		.chrome = { .export = export, .json = { .file = file }, .start_ns = start_ns - base_ns },
	};
	enum gmt_status status;

	writer.chrome.end_ns = export->until_ns < duration_ns ? export->until_ns : duration_ns;
	writer.interval_ns = writer.chrome.end_ns / INTERVALS + 1;
	status = write_all(&writer, base_ns, error);
	gmt_vec_fini(&writer.counters);
	gmt_vec_fini(&writer.changed);
	gmt_vec_fini(&writer.points);
	return status;
}
