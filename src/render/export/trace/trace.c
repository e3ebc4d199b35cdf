/* SPDX-License-Identifier: MIT */
#include "render/export/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/frames.h"

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
	struct gmt_trace *trace;
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
		writer->trace->form->value(writer->trace,
			&replay->accounting.accounts.items[writer->points.items[i].account],
			writer->points.items[i].time_ns, writer->points.items[i].bytes);
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

	if (!gmt_profile_includes(&writer->trace->export->choice, account->layer, account->device))
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
		gmt_clock_time_ns(writer->trace->export->recording, stamp));
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

/* Writes a refused request. */
static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct writer *writer = user;
	struct gmt_trace *trace = writer->trace;
	bool is_host = gmt_space_side(event->space) == GMT_SIDE_HOST;
	int32_t device = is_host ? GMT_DEVICE_HOST : event->device;

	(void)index;
	if (!trace->form->refusal || gmt_budget_has_cut_output() ||
		!gmt_profile_includes(&trace->export->choice, event->layer, device))
		return true;
	if (!write_changes(writer, replay))
		return false;
	trace->form->refusal(trace, event, device,
		gmt_clock_time_ns(trace->export->recording, event->stamp));
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

	return gmt_export_replay(writer->trace->export, &observer, error);
}

struct gmt_trace gmt_trace_begin(struct gmt_export *export, const struct gmt_trace_form *form)
{
	uint64_t duration_ns = gmt_recording_duration_ns(export->recording);

	return (struct gmt_trace){
		.export = export,
		.form = form,
		.end_ns = export->until_ns < duration_ns ? export->until_ns : duration_ns,
	};
}

enum gmt_status gmt_trace_write(struct gmt_trace *trace, struct gmt_error *error)
{
	struct writer writer = { .trace = trace, .interval_ns = trace->end_ns / INTERVALS + 1 };
	enum gmt_status status;

	if (trace->form->slice && !gmt_trace_slices(trace))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	status = write_events(&writer, error);
	gmt_vec_fini(&writer.counters);
	gmt_vec_fini(&writer.changed);
	gmt_vec_fini(&writer.points);
	return status;
}

struct gmt_export_name gmt_trace_curve(const struct gmt_account *account)
{
	struct gmt_export_name name;

	snprintf(name.text, sizeof(name.text), "live memory, %s, %s", gmt_layer_name(account->layer),
		gmt_device_text(account->device).text);
	return name;
}

char *gmt_trace_stack(const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	char *line = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&line, &length);

	if (!memory)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? " < " : "", memory);
		gmt_export_frame(memory, traces, places[i], "");
	}
	fputs(count ? "" : GMT_EXPORT_NO_STACK, memory);
	if (fclose(memory)) {
		free(line);
		return NULL;
	}
	return line;
}
