/* SPDX-License-Identifier: MIT */
#include "render/info.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "render/coverage.h"
#include "render/head.h"
#include "render/plain.h"

static void write_padded(const struct gmt_plain *plain, const char *text, size_t width)
{
	gmt_plain_text(plain, text);
	for (size_t length = strlen(text); length < width; length++)
		fputc(' ', plain->file);
}

/*
 * Writes nothing if the recorder reported no overhead: it is older, or its writer has not yet
 * worked for a whole second.
 */
static void write_overhead(const struct gmt_overhead_estimate *overhead, FILE *file)
{
	if (!overhead->timed_calls && !overhead->writer_ns)
		return;
	fputs("  overhead  ", file);
	if (overhead->timed_calls)
		fprintf(file, "estimated from %s timed: %s a call in the program's threads, %s for all; ",
			gmt_text_count(overhead->timed_calls).text, gmt_text_duration(overhead->call_ns).text,
			gmt_text_duration(overhead->calls_ns).text);
	else
		fputs("too few calls to estimate it in the program's threads; ", file);
	fprintf(file, "%s in the recorder's own\n", gmt_text_duration(overhead->writer_ns).text);
}

static void write_devices(const struct gmt_snapshot *snapshot, const struct gmt_plain *plain)
{
	for (size_t i = 0; i < snapshot->devices.count; i++) {
		const struct gmt_device *device = &snapshot->devices.items[i];

		fprintf(plain->file, "  GPU %-5u ", device->ordinal);
		gmt_plain_text(plain, device->name.text);
		fprintf(plain->file, ", %s, ", gmt_text_size(device->total_bytes).text);
		gmt_plain_text(plain, device->uuid.text);
		fputc('\n', plain->file);
	}
}

static void write_tables(const struct gmt_info *info, const struct gmt_plain *plain)
{
	const struct gmt_snapshot *snapshot = info->snapshot;

	fprintf(plain->file, "\n  %-32s %11s %11s %8s %8s %8s\n", "events by function", "allocs",
		"frees", "refused", "bad free", "others");
	for (size_t i = 0; i < info->event_counts->apis.count; i++) {
		const struct gmt_event_counts_api *row = &info->event_counts->apis.items[i];
		const struct gmt_api *api = gmt_snapshot_api(snapshot, row->api);
		char name[200];

		if (api)
			snprintf(name, sizeof(name), "%.190s", api->name.text);
		else
			snprintf(name, sizeof(name), "function %u", row->api);
		fputs("  ", plain->file);
		write_padded(plain, name, 32);

		uint64_t shown = row->counts[GMT_KIND_ALLOC] + row->counts[GMT_KIND_FREE] +
			row->counts[GMT_KIND_ALLOC_FAILED] + row->counts[GMT_KIND_FREE_FAILED];

		fprintf(plain->file,
			" %11" PRIu64 " %11" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
			row->counts[GMT_KIND_ALLOC], row->counts[GMT_KIND_FREE],
			row->counts[GMT_KIND_ALLOC_FAILED], row->counts[GMT_KIND_FREE_FAILED],
			row->counts[0] > shown ? row->counts[0] - shown : 0);
	}
	fprintf(plain->file, "\n  %-32s %11s\n", "events by thread", "events");
	for (size_t i = 0; i < info->event_counts->threads.count; i++) {
		const struct gmt_event_counts_thread *row = &info->event_counts->threads.items[i];
		const struct gmt_thread *thread = gmt_snapshot_thread(snapshot, row->thread);

		fprintf(plain->file, "  %-10u ", thread ? thread->tid : row->thread);
		write_padded(plain, thread ? thread->name.text : "?", 21);
		fprintf(plain->file, " %11" PRIu64 "\n", row->events);
	}
}

void gmt_info_text(const struct gmt_info *info, FILE *file)
{
	const struct gmt_snapshot *snapshot = info->snapshot;
	struct gmt_plain plain = { file, info->color };

	gmt_head_text(&plain, snapshot, info->warnings);
	fprintf(file, "  file      %s, %.1f bytes per event\n",
		gmt_text_size(snapshot->file_bytes).text,
		snapshot->seen_events ? (double)snapshot->file_bytes / (double)snapshot->seen_events : 0.0);
	fputs("  recorder  version ", file);
	gmt_plain_text(&plain, snapshot->shim_version);
	fputs(" on ", file);
	gmt_plain_text(&plain, snapshot->machine);
	fputs("\n  options  ", file);
	for (size_t i = 0; i < snapshot->options.count; i++) {
		fputc(' ', file);
		gmt_plain_text(&plain, snapshot->options.items[i].key.text);
		fputc('=', file);
		gmt_plain_text(&plain, snapshot->options.items[i].value.text);
	}
	fprintf(file,
		"\n  stacks    %zu native, %zu Python, %zu pairs; %zu modules, %zu Python functions\n",
		snapshot->stacks.count, snapshot->frames.count, snapshot->traces.count,
		snapshot->modules.count, snapshot->codes.count);
	write_overhead(&info->overhead, file);
	write_devices(snapshot, &plain);
	if (info->coverage)
		gmt_coverage_text(info->coverage, &plain);
	else
		write_tables(info, &plain);
	fputs("\nnext: gpumemtrace report ", file);
	gmt_plain_argument(&plain, snapshot->path);
	fputc('\n', file);
}

static void render_lists(const struct gmt_info *info, struct gmt_json *json)
{
	const struct gmt_snapshot *snapshot = info->snapshot;

	gmt_json_key_array(json, "apis");
	for (size_t i = 0; i < info->event_counts->apis.count; i++) {
		const struct gmt_event_counts_api *row = &info->event_counts->apis.items[i];
		const struct gmt_api *api = gmt_snapshot_api(snapshot, row->api);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", api ? api->name.text : NULL);
		gmt_json_key_text(json, "library", api ? api->library.text : NULL);
#define GMT_KIND(number, NAME, name, ...) gmt_json_key_u64(json, name, row->counts[number]);
#include "format/kinds.def"
#undef GMT_KIND
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);

	gmt_json_key_array(json, "threads");
	for (size_t i = 0; i < info->event_counts->threads.count; i++) {
		const struct gmt_event_counts_thread *row = &info->event_counts->threads.items[i];
		const struct gmt_thread *thread = gmt_snapshot_thread(snapshot, row->thread);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", thread ? thread->name.text : NULL);
		gmt_json_key_u64(json, "tid", thread ? thread->tid : 0);
		gmt_json_key_u64(json, "events", row->events);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);

	gmt_json_key_array(json, "modules");
	for (size_t i = 0; i < snapshot->modules.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "path", snapshot->modules.items[i].path.text);
		gmt_json_key_text(json, "build_id", snapshot->modules.items[i].build_id.text);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

/* Writes the overhead, or null if the recorder did not report it. */
static void render_overhead(const struct gmt_overhead_estimate *overhead, struct gmt_json *json)
{
	gmt_json_key(json, "overhead_estimate");
	if (!overhead->timed_calls && !overhead->writer_ns) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "timed_calls", overhead->timed_calls);
	gmt_json_key_u64(json, "call_ns", overhead->call_ns);
	gmt_json_key_u64(json, "calls_ns", overhead->calls_ns);
	gmt_json_key_u64(json, "long_calls", overhead->long_calls);
	gmt_json_key_u64(json, "writer_ns", overhead->writer_ns);
	gmt_json_end_object(json);
}

void gmt_info_json(const struct gmt_info *info, struct gmt_json *json)
{
	const struct gmt_snapshot *snapshot = info->snapshot;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.info/1");
	gmt_json_key_text(json, "file", snapshot->path);
	gmt_json_key_u64(json, "file_bytes", snapshot->file_bytes);
	gmt_json_key_bool(json, "complete", gmt_snapshot_complete(snapshot));
	gmt_head_in_progress(json, snapshot);
	gmt_json_key_u64(json, "events", snapshot->seen_events);
	gmt_json_key_u64(json, "dropped", gmt_snapshot_dropped(snapshot));
	gmt_json_key_u64(json, "start_time_ns", snapshot->process.start_time_ns);
	gmt_json_key_u64(json, "duration_ns", gmt_snapshot_duration_ns(snapshot));
	gmt_json_key_text(json, "recorder_version", snapshot->shim_version);
	gmt_json_key_text(json, "machine", snapshot->machine);
	gmt_json_key_object(json, "options");
	for (size_t i = 0; i < snapshot->options.count; i++)
		gmt_json_key_text(json, snapshot->options.items[i].key.text,
			snapshot->options.items[i].value.text);
	gmt_json_end_object(json);
	render_overhead(&info->overhead, json);
	render_lists(info, json);
	if (info->coverage) {
		gmt_json_key(json, "coverage");
		gmt_coverage_json(info->coverage, json);
	}
	gmt_head_remarks(json, info->warnings);
	gmt_json_end_object(json);
}
