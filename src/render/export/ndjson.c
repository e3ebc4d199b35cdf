/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, one object on each line. docs/data/ndjson.md describes the keys. A stack is a
 * line of its own, before the first event that refers to it.
 */
#include "base/budget.h"
#include "containers/vec.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/frames.h"
#include "render/json.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

struct writer {
	const struct gmt_export *export;
	struct gmt_json json;
	GMT_VEC(bool) known_stacks; /* by stack: its line is written */
	uint32_t step; /* for gmt_series_find */
	uint64_t from_stamp; /* the first event that is included is at or after this stamp */
};

static uint64_t time_ns(const struct writer *writer, uint64_t stamp)
{
	return gmt_clock_time_ns(writer->export->recording, stamp);
}

static void begin(struct writer *writer, const char *type)
{
	gmt_json_begin_object(&writer->json);
	gmt_json_key_text(&writer->json, "type", type);
}

static void end(struct writer *writer)
{
	gmt_json_end_object(&writer->json);
	writer->json.needs_comma = false;
	fputc('\n', writer->json.file);
}

static void write_head(struct writer *writer)
{
	const struct gmt_recording *recording = writer->export->recording;
	const struct gmt_process *process = &recording->process;
	struct gmt_json *json = &writer->json;

	begin(writer, "recording");
	gmt_json_key_text(json, "schema", "gpumemtrace.events/1");
	gmt_json_key_text(json, "file", recording->path);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(recording));
	gmt_json_key_u64(json, "pid", process->pid);
	gmt_json_key_text(json, "host", recording->host);
	gmt_json_key_known(json, "rank", process->rank >= 0, (uint32_t)process->rank);
	gmt_json_key_texts(json, "command", recording->command.items, recording->command.count);
	gmt_json_key_u64(json, "start_time_ns", process->start_time_ns);
	gmt_json_key_u64(json, "duration_ns", gmt_recording_duration_ns(recording));
	end(writer);
}

static void write_steps(struct writer *writer, const struct gmt_step_series *series)
{
	for (size_t i = 0; i < series->steps.count && !gmt_budget_has_cut_output(); i++) {
		const struct gmt_step *step = &series->steps.items[i];

		begin(writer, "step");
		gmt_json_key_text(&writer->json, "source", gmt_step_source_name(series->source));
		gmt_json_key_u64(&writer->json, "step", i);
		gmt_json_key_u64(&writer->json, "begin_ns", time_ns(writer, step->begin));
		gmt_json_key_u64(&writer->json, "end_ns", time_ns(writer, step->end));
		end(writer);
	}
}

static void write_phases(struct writer *writer, const struct gmt_timeline *timeline)
{
	for (size_t i = 0; i < timeline->phases.count && !gmt_budget_has_cut_output(); i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		begin(writer, "phase");
		gmt_json_key_text(&writer->json, "name", phase->name);
		gmt_json_key_u64(&writer->json, "depth", phase->depth);
		gmt_json_key_u64(&writer->json, "begin_ns", time_ns(writer, phase->begin));
		gmt_json_key_known(&writer->json, "end_ns", !phase->open, time_ns(writer, phase->end));
		end(writer);
	}
}

static void write_stack(struct writer *writer, uint32_t stack)
{
	if (writer->known_stacks.items[stack])
		return;
	writer->known_stacks.items[stack] = true;
	begin(writer, "stack");
	gmt_json_key_u64(&writer->json, "id", stack);
	gmt_stack_json(writer->export->traces, stack, &writer->json);
	end(writer);
}

/* Begins the line of an event, up to the keys that all events have. */
static void begin_event(struct writer *writer, const char *type, uint64_t stamp, uint8_t layer,
	int32_t device, uint8_t space)
{
	struct gmt_space_text name = gmt_space_text(space);
	struct gmt_json *json = &writer->json;

	begin(writer, type);
	gmt_json_key_u64(json, "time_ns", time_ns(writer, stamp));
	gmt_json_key_text(json, "layer", gmt_layer_name(layer));
	gmt_json_key_device(json, device);
	gmt_json_key_text(json, "space", name.text);
}

static void write_where(struct writer *writer, const struct gmt_recording_event *event)
{
	const struct gmt_timeline *timeline = writer->export->timeline;
	const struct gmt_phase *phase = gmt_timeline_phase(timeline, event->stamp, false);
	bool has_step = timeline->series_count &&
		gmt_series_find(&timeline->series[0], event->stamp, &writer->step);

	gmt_json_key_u64(&writer->json, "thread", event->thread);
	gmt_json_key_known(&writer->json, "step", has_step, writer->step);
	gmt_json_key_text(&writer->json, "phase", phase ? phase->name : NULL);
}

static bool is_included(const struct writer *writer, const struct gmt_recording_event *event,
	uint8_t layer, int32_t device)
{
	return event->stamp >= writer->from_stamp && !gmt_budget_has_cut_output() &&
		gmt_profile_includes(&writer->export->choice, layer, device);
}

/* Writes that a block begins. `block` is NULL then. Or that it ends. */
static bool write_block(struct writer *writer, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site, const struct gmt_account_block *block)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];
	uint32_t stack = replay->site_stacks.items[site];
	struct gmt_json *json = &writer->json;

	if (!is_included(writer, event, account->layer, account->device))
		return true;
	write_stack(writer, stack);
	begin_event(writer, block ? "free" : "alloc", event->stamp, account->layer, account->device,
		event->space);
	gmt_json_key_u64(json, "address", event->address);
	gmt_json_key_u64(json, "size_bytes", block ? block->size_bytes : event->size_bytes);
	gmt_json_key_u64(json, "live_bytes", account->live_bytes);
	gmt_json_key_u64(json, "stack", stack);
	if (block)
		gmt_json_key_u64(json, "lifetime_ns",
			time_ns(writer, event->stamp) - time_ns(writer, block->stamp));
	write_where(writer, event);
	end(writer);
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	return write_block(user, replay, event, site, NULL);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	return write_block(user, replay, event, block->site, block);
}

/* Writes a refused request. */
static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct writer *writer = user;
	bool is_host = gmt_space_side(event->space) == GMT_SIDE_HOST;
	int32_t device = is_host ? GMT_DEVICE_HOST : event->device;
	uint32_t stack = writer->export->traces->stack_of_trace[event->trace];

	(void)replay;
	(void)index;
	if (!is_included(writer, event, event->layer, device))
		return true;
	write_stack(writer, stack);
	begin_event(writer, "refused", event->stamp, event->layer, device, event->space);
	gmt_json_key_u64(&writer->json, "size_bytes", event->size_bytes);
	gmt_json_key_u64(&writer->json, "result", event->result);
	gmt_json_key_u64(&writer->json, "stack", stack);
	write_where(writer, event);
	end(writer);
	return true;
}

static enum gmt_status write_events(struct writer *writer, struct gmt_error *error)
{
	const struct gmt_replay_observer observer = {
		.before = on_before,
		.next_needed_stamp = &gmt_replay_quiet,
		.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED),
		.began = on_began,
		.ended = on_ended,
		.user = writer,
	};

	return gmt_export_replay(writer->export, &observer, error);
}

enum gmt_status gmt_export_ndjson(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	struct writer writer = { .export = export, .json = { .file = file } };
	enum gmt_status status;

	if (export->first)
		writer.from_stamp = export->first < export->recording->events.count
			? gmt_recording_event(export->recording, export->first).stamp
			: UINT64_MAX;
	/* The reserved memory is zeroed. */
	if (!gmt_vec_reserve(&writer.known_stacks, export->traces->stacks.entries.count + 1))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	write_head(&writer);
	for (size_t i = 0; i < export->timeline->series_count; i++)
		write_steps(&writer, &export->timeline->series[i]);
	write_phases(&writer, export->timeline);
	status = write_events(&writer, error);
	gmt_vec_fini(&writer.known_stacks);
	return status;
}
