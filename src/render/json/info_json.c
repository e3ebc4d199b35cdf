/* SPDX-License-Identifier: MIT */
#include "render/info.h"

#include "render/function_coverage.h"
#include "render/recording_head.h"

static void render_lists(const struct gmt_info *info, struct gmt_json *json)
{
	const struct gmt_recording *recording = info->recording;

	gmt_json_key(json, "apis");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < info->event_counts->apis.count; i++) {
		const struct gmt_event_counts_api *row = &info->event_counts->apis.items[i];
		const struct gmt_api *api = gmt_recording_api(recording, row->api);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", api ? api->name.text : NULL);
		gmt_json_key_text(json, "library", api ? api->library.text : NULL);
#define GMT_KIND(number, NAME, name, ...) gmt_json_key_u64(json, name, row->counts[number]);
#include "format/event_kinds.def"
#undef GMT_KIND
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);

	gmt_json_key(json, "threads");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < info->event_counts->threads.count; i++) {
		const struct gmt_event_counts_thread *row = &info->event_counts->threads.items[i];
		const struct gmt_thread *thread = gmt_recording_thread(recording, row->thread);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", thread ? thread->name.text : NULL);
		gmt_json_key_u64(json, "tid", thread ? thread->tid : 0);
		gmt_json_key_u64(json, "events", row->events);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);

	gmt_json_key(json, "modules");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < recording->modules.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "path", recording->modules.items[i].path.text);
		gmt_json_key_text(json, "build_id", recording->modules.items[i].build_id.text);
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

void gmt_info_recorder_json(const struct gmt_recording *recording,
	const struct gmt_overhead_estimate *overhead, struct gmt_json *json)
{
	gmt_json_key(json, "options");
	gmt_json_begin_object(json);
	for (size_t i = 0; i < recording->options.count; i++)
		gmt_json_key_text(json, recording->options.items[i].key.text,
			recording->options.items[i].value.text);
	gmt_json_end_object(json);
	render_overhead(overhead, json);
}

void gmt_info_json(const struct gmt_info *info, struct gmt_json *json)
{
	const struct gmt_recording *recording = info->recording;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.info/2");
	gmt_json_key_text(json, "file", recording->path);
	gmt_json_key_u64(json, "file_bytes", recording->file_bytes);
	gmt_json_key(json, "complete");
	gmt_json_bool(json, gmt_recording_complete(recording));
	gmt_recording_head_json_in_progress(json, recording);
	gmt_json_key_u64(json, "events", recording->seen_events);
	gmt_json_key_u64(json, "dropped", gmt_recording_dropped(recording));
	gmt_json_key_u64(json, "start_time_ns", recording->process.start_time_ns);
	gmt_json_key_u64(json, "duration_ns", gmt_recording_duration_ns(recording));
	gmt_json_key_text(json, "recorder_version", recording->recorder_version);
	gmt_json_key_text(json, "machine", recording->machine);
	if (gmt_recording_is_imported(recording))
		gmt_json_key_text(json, "imported_from", recording->imported_from);
	gmt_info_recorder_json(recording, &info->overhead, json);
	render_lists(info, json);
	if (info->coverage) {
		gmt_json_key(json, "coverage");
		gmt_function_coverage_json(info->coverage, json);
	}
	gmt_recording_head_json_remarks(json, info->warnings);
	gmt_json_end_object(json);
}
