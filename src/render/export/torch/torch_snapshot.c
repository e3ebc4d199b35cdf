/* SPDX-License-Identifier: MIT */
/*
 * Writes a memory snapshot of PyTorch. A first pass counts the events and leaves the state at the
 * end; then a pass for each device writes its events, because each device has a list of its own.
 */
#include <inttypes.h>

#include "base/budget.h"
#include "base/text.h"
#include "reader/load/clock.h"
#include "render/export/torch/torch_writer.h"

/* The viewer takes 10 s to show the allocator's history of so many events. */
enum { DEFAULT_MAX_EVENTS = 200000 };

/* In place of the number of a step: the event is outside of steps. */
#define NO_STEP UINT32_MAX

static const char *const actions[GMT_TORCH_ACTIONS] = { "alloc", "free_requested", "free_completed",
	"segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom" };

static enum gmt_category category_of(const struct gmt_torch_writer *writer, uint32_t site)
{
	return gmt_category_of(writer->export->replay, writer->export->traces, NULL, site);
}

/* The viewer needs at least one block whose category is "unknown". */
static void key_category(struct gmt_torch_writer *writer, uint32_t site)
{
	enum gmt_category category = category_of(writer, site);

	gmt_torch_key(writer, GMT_TORCH_TEXT_category);
	gmt_pickle_memo_text(&writer->pickle,
		category == GMT_CATEGORY_OTHER ? "unknown" : gmt_category_name(category),
		&writer->category_memos[category]);
}

static uint64_t time_us(const struct gmt_recording *recording, uint64_t stamp)
{
	return (recording->process.start_time_ns + gmt_clock_time_ns(recording, stamp)) / 1000;
}

/*
 * Writes the step and the phase of an event, as PyTorch writes what the program calls its metadata.
 * Events of one step and phase share a dict.
 */
static void key_metadata(struct gmt_torch_writer *writer, uint64_t stamp)
{
	const struct gmt_timeline *timeline = writer->export->timeline;
	const struct gmt_phase *phase = gmt_timeline_phase(timeline, stamp, false);
	uint32_t step;
	bool has_step = timeline->series_count && gmt_series_find(&timeline->series[0], stamp, &step);

	if (!has_step)
		step = NO_STEP;
	if (!has_step && !phase)
		return;
	gmt_torch_key(writer, GMT_TORCH_TEXT_user_metadata);
	if (writer->metadata_memo && writer->step == step && writer->phase == phase) {
		gmt_pickle_get(&writer->pickle, writer->metadata_memo);
		return;
	}
	gmt_pickle_begin_dict(&writer->pickle);
	if (has_step)
		gmt_torch_key_number(writer, GMT_TORCH_TEXT_step, step);
	if (phase) {
		gmt_torch_key(writer, GMT_TORCH_TEXT_phase);
		gmt_pickle_text(&writer->pickle, phase->name);
	}
	gmt_pickle_end_dict(&writer->pickle);
	writer->metadata_memo = gmt_pickle_memoize(&writer->pickle);
	writer->step = step;
	writer->phase = phase;
}

static void write_event(struct gmt_torch_writer *writer, const struct gmt_torch_event *event)
{
	gmt_pickle_item(&writer->pickle, &writer->events);
	gmt_pickle_begin_dict(&writer->pickle);
	gmt_torch_key(writer, GMT_TORCH_TEXT_action);
	gmt_pickle_memo_text(&writer->pickle, actions[event->action],
		&writer->action_memos[event->action]);
	gmt_torch_key_number(writer,
		event->action == GMT_TORCH_OOM ? GMT_TORCH_TEXT_device_free : GMT_TORCH_TEXT_addr,
		event->address);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_size, event->size_bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_stream, 0);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_time_us,
		time_us(writer->export->recording, event->stamp));
	gmt_torch_key_frames(writer, event->stack);
	if (writer->has_categories && event->action == GMT_TORCH_ALLOC)
		key_category(writer, event->site_plus_1 - 1);
	key_metadata(writer, event->stamp);
	gmt_pickle_end_dict(&writer->pickle);
}

static bool count_event(void *user, const struct gmt_torch_event *event)
{
	struct gmt_torch_writer *writer = user;
	size_t device = (size_t)event->device;

	if (device >= writer->device_counts.count) {
		if (!gmt_vec_reserve(&writer->device_counts, device + 1 - writer->device_counts.count))
			return false;
		writer->device_counts.count = device + 1;
	}
	writer->device_counts.items[device]++;
	writer->count++;
	if (event->action == GMT_TORCH_ALLOC &&
		category_of(writer, event->site_plus_1 - 1) == GMT_CATEGORY_OTHER)
		writer->last_other_plus_1 = writer->count;
	return true;
}

static bool take_event(void *user, const struct gmt_torch_event *event)
{
	struct gmt_torch_writer *writer = user;

	if (writer->count++ >= writer->first && event->device == writer->device)
		write_event(writer, event);
	return true;
}

static enum gmt_status write_device(struct gmt_torch_writer *writer, int16_t device,
	struct gmt_error *error)
{
	struct gmt_torch_events events = {
		.export = writer->export, .take = take_event, .user = writer
	};
	enum gmt_status status = GMT_OK;

	writer->device = device;
	writer->count = 0;
	writer->events = gmt_pickle_begin_list(&writer->pickle);
	if (writer->device_counts.items[device])
		status = gmt_torch_events_run(&events, error);
	gmt_pickle_end_list(&writer->pickle, &writer->events);
	gmt_torch_events_fini(&events);
	return status;
}

static enum gmt_status write_traces(struct gmt_torch_writer *writer, struct gmt_error *error)
{
	enum gmt_status status = GMT_OK;
	struct gmt_pickle_list list;

	gmt_pickle_text(&writer->pickle, "device_traces");
	list = gmt_pickle_begin_list(&writer->pickle);
	for (size_t i = 0; !status && i < writer->device_counts.count; i++) {
		gmt_pickle_item(&writer->pickle, &list);
		status = write_device(writer, (int16_t)i, error);
	}
	gmt_pickle_end_list(&writer->pickle, &list);
	return status;
}

static void write_settings(struct gmt_torch_writer *writer, uint64_t max_events)
{
	gmt_pickle_text(&writer->pickle, "allocator_settings");
	gmt_pickle_begin_dict(&writer->pickle);
	gmt_pickle_text(&writer->pickle, "trace_alloc_max_entries");
	gmt_pickle_number(&writer->pickle, max_events);
	gmt_pickle_text(&writer->pickle, "trace_alloc_overflowed");
	gmt_pickle_bool(&writer->pickle, writer->first);
	gmt_pickle_end_dict(&writer->pickle);
}

/* Keeps the newest events. */
static void limit_events(struct gmt_torch_writer *writer, uint64_t max_events)
{
	enum { USUAL_BYTES = 64 };
	struct gmt_export *export = writer->export;

	if (max_events > gmt_budget.output_bytes / USUAL_BYTES) {
		max_events = gmt_budget.output_bytes / USUAL_BYTES;
		if (writer->count > max_events)
			gmt_budget_leave_out(GMT_BUDGET_OUTPUT);
	}
	if (writer->count > max_events) {
		writer->first = writer->count - max_events;
		snprintf(export->left_out, sizeof(export->left_out),
			"the first %s of %s events are not included; --max-events=%" PRIu64 " includes all",
			gmt_text_count(writer->first).text, gmt_text_count(writer->count).text, writer->count);
	}
	writer->has_categories = writer->last_other_plus_1 > writer->first;
}

static bool make_room(struct gmt_torch_writer *writer)
{
	const struct gmt_traces *traces = writer->export->traces;

	/* The reserved memory is zeroed. */
	return gmt_vec_reserve(&writer->strings, traces->strings.entries.count + 1) &&
		gmt_vec_reserve(&writer->places, traces->places.entries.count + 1) &&
		gmt_vec_reserve(&writer->stacks, traces->stacks.entries.count + 1);
}

static enum gmt_status write_snapshot(struct gmt_torch_writer *writer,
	struct gmt_torch_events *counted, struct gmt_error *error)
{
	uint64_t max_events =
		writer->export->max_events == UINT64_MAX ? DEFAULT_MAX_EVENTS : writer->export->max_events;
	enum gmt_status status = gmt_torch_events_run(counted, error);

	if (status)
		return status;
	limit_events(writer, max_events);
	gmt_pickle_begin(&writer->pickle);
	gmt_pickle_begin_dict(&writer->pickle);
	if ((status = write_traces(writer, error)) ||
		(status = gmt_torch_write_segments(writer, counted, error)))
		return status;
	write_settings(writer, max_events);
	gmt_pickle_end_dict(&writer->pickle);
	gmt_pickle_end(&writer->pickle);
	return GMT_OK;
}

enum gmt_status gmt_export_torch(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	struct gmt_torch_writer writer = { .export = export, .pickle = { .file = file } };
	struct gmt_torch_events counted = { .export = export, .take = count_event, .user = &writer };
	enum gmt_status status = make_room(&writer)
		? write_snapshot(&writer, &counted, error)
		: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	gmt_torch_events_fini(&counted);
	gmt_vec_fini(&writer.strings);
	gmt_vec_fini(&writer.places);
	gmt_vec_fini(&writer.stacks);
	gmt_vec_fini(&writer.device_counts);
	return status;
}
