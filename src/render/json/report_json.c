/* SPDX-License-Identifier: MIT */
#include "render/report.h"

#include "analysis/history/categories.h"
#include "reader/load/clock.h"
#include "render/recording_head.h"
#include "render/custom_heaps.h"
#include "render/ledger.h"
#include "render/ooms.h"
#include "render/overview.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

static void render_events(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_recording *recording = report->recording;

	gmt_json_key_object(json, "events");
	gmt_json_key_u64(json, "recorded", recording->seen_events);
	gmt_json_key_u64(json, "dropped", gmt_recording_dropped(recording));
	gmt_json_key_u64(json, "replayed", report->replay->events);
	gmt_json_key_array(json, "drops");
	for (size_t i = 0; i < recording->drops.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "thread", recording->drops.items[i].thread);
		gmt_json_key_text(json, "reason", recording->drops.items[i].reason);
		gmt_json_key_u64(json, "count", recording->drops.items[i].count);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void render_compacted(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_recording *recording = report->recording;

	gmt_json_key_object(json, "folded");
	gmt_json_key_u64(json, "until_ns",
		gmt_clock_time_ns(recording, recording->compacted.cut_stamp));
	gmt_json_key_u64(json, "events", gmt_recording_compacted_events(recording));
	gmt_json_key_u64(json, "survivors", recording->compacted_events);
	gmt_json_key_u64(json, "merged_sites", recording->compacted.merged_sites);
	gmt_json_key_text(json, "why", recording->compaction_why);
	gmt_json_end_object(json);
}

static void render_process(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_recording *recording = report->recording;
	const struct gmt_process *process = &recording->process;

	gmt_json_key_object(json, "process");
	gmt_json_key_u64(json, "pid", process->pid);
	gmt_json_key_text(json, "host", recording->host);
	gmt_json_key_known(json, "rank", process->rank >= 0, (uint32_t)process->rank);
	gmt_json_key_known(json, "local_rank", process->local_rank >= 0, (uint32_t)process->local_rank);
	gmt_json_key_texts(json, "command", recording->command.items, recording->command.count);
	gmt_json_key_text(json, "executable", recording->executable);
	gmt_json_key_text(json, "directory", recording->directory);
	gmt_json_key_text(json, "machine", recording->machine);
	gmt_json_key_u64(json, "parent_pid", process->parent_pid);
	gmt_json_key_u64(json, "start_time_ns", process->start_time_ns);
	gmt_json_key_u64(json, "duration_ns", gmt_recording_duration_ns(recording));
	gmt_json_key_text(json, "recorder_version", recording->recorder_version);
	if (gmt_recording_is_imported(recording))
		gmt_json_key_text(json, "imported_from", recording->imported_from);
	gmt_json_end_object(json);
}

static void render_space(const struct gmt_memory_summary_space *space, struct gmt_json *json)
{
	struct gmt_space_text name = gmt_space_text(space->space);

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "space", name.text);
	gmt_json_key_u64(json, "live_bytes", space->live_bytes);
	gmt_json_key_u64(json, "live_blocks", space->live_blocks);
	gmt_json_key_u64(json, "peak_bytes", space->peak_bytes);
	gmt_json_key_u64(json, "peak_time_ns", space->peak_time_ns);
	gmt_json_end_object(json);
}

static void render_account(const struct gmt_memory_summary_layer *layer, struct gmt_json *json)
{
	const struct gmt_account *account = &layer->account;

	gmt_json_key_u64(json, "live_bytes", account->live_bytes);
	gmt_json_key_u64(json, "live_blocks", account->live_blocks);
	gmt_json_key_u64(json, "left_bytes", layer->live_at_exit_bytes);
	gmt_json_key_u64(json, "left_blocks", layer->live_at_exit_blocks);
	gmt_json_key_u64(json, "peak_bytes", account->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", account->peak_blocks);
	gmt_json_key_u64(json, "peak_time_ns", layer->peak_time_ns);
	gmt_json_key_u64(json, "alloc_count", account->alloc_count);
	gmt_json_key_u64(json, "free_count", account->free_count);
	gmt_json_key_u64(json, "refused_count", account->refused_count);
	gmt_json_key_u64(json, "total_alloc_bytes", account->total_bytes);
	if (account->has_totals) {
		gmt_json_key_object(json, "reported");
		gmt_json_key_u64(json, "allocated_bytes", account->reported_allocated_bytes);
		gmt_json_key_u64(json, "allocated_peak_bytes", account->reported_allocated_peak_bytes);
		gmt_json_key_u64(json, "reserved_bytes", account->reported_reserved_bytes);
		gmt_json_key_u64(json, "reserved_peak_bytes", account->reported_reserved_peak_bytes);
		gmt_json_key_i64(json, "unseen_bytes", account->unseen_bytes);
		gmt_json_key_u64(json, "disagreements", account->reported_disagreements);
		gmt_json_end_object(json);
	}
	gmt_json_key_array(json, "spaces");
	for (size_t i = 0; i < layer->spaces.count; i++)
		render_space(&layer->spaces.items[i], json);
	gmt_json_end_array(json);
}

static void render_device(const struct gmt_memory_summary_device *device, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_i64(json, "device", device->device);
	gmt_json_key_text(json, "name", device->info ? device->info->name.text : NULL);
	gmt_json_key_text(json, "uuid", device->info ? device->info->uuid.text : NULL);
	gmt_json_key_known(json, "total_bytes", device->info,
		device->info ? device->info->total_bytes : 0);
	gmt_json_key_array(json, "layers");
	for (size_t i = 0; i < device->layers.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "layer", gmt_layer_name(device->layers.items[i].layer));
		render_account(&device->layers.items[i], json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void render_allocator_state(uint32_t layer, int32_t device, uint32_t space,
	struct gmt_json *json)
{
	struct gmt_space_text name = gmt_space_text(space);

	gmt_json_key_text(json, "layer", gmt_layer_name(layer));
	gmt_json_key_device(json, device);
	gmt_json_key_text(json, "space", name.text);
}

/*
 * Writes the name of the thread that allocated a site's blocks. Null: several threads, or no known
 * thread.
 */
static void render_thread(const struct gmt_report *report, uint32_t id, struct gmt_json *json)
{
	const struct gmt_thread *thread = gmt_recording_thread(report->recording, id);

	gmt_json_key(json, "thread");
	if (thread)
		gmt_json_bytes(json, thread->name.text, thread->name.length);
	else
		gmt_json_null(json);
}

static void render_site(const struct gmt_report *report, const struct gmt_site *site,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	render_allocator_state(site->layer, site->device, site->space, json);
	gmt_json_key_u64(json, "live_bytes", site->live_at_end_bytes);
	gmt_json_key_u64(json, "live_blocks", site->live_at_end_blocks);
	gmt_json_key_u64(json, "left_bytes", site->live_at_exit_bytes);
	gmt_json_key_u64(json, "left_blocks", site->live_at_exit_blocks);
	gmt_json_key_u64(json, "peak_bytes", site->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", site->peak_blocks);
	gmt_json_key_u64(json, "max_live_bytes", site->max_live_bytes);
	gmt_json_key_u64(json, "total_bytes", site->total_bytes);
	gmt_json_key_u64(json, "allocs", site->alloc_count);
	gmt_json_key_u64(json, "frees", site->free_count);
	gmt_json_key_text(json, "category",
		gmt_category_name(gmt_category_of(report->replay, report->traces, report->leaks->history,
			site->id)));
	gmt_owner_json(report->traces, site->stack, site->layer, site->device, json);
	gmt_json_key_bool(json, "is_segment",
		site->layer == GMT_LAYER_CUDA &&
			gmt_owners_is_segment(&report->traces->owners, site->stack));
	render_thread(report, site->thread, json);
	gmt_json_key_u64(json, "own_frame", site->own_line);
	gmt_stack_json(report->traces, site->stack, json);
	gmt_json_end_object(json);
}

/* Writes the refused requests, which show why a program ran out of memory. */
static void render_refusals(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_replay *replay = report->replay;

	gmt_json_key_array(json, "refused");
	for (size_t i = 0; i < replay->refusals.count && !report->without_sites; i++) {
		const struct gmt_replay_refusal *refusal = &replay->refusals.items[i];
		struct gmt_recording_event event = gmt_recording_event(report->recording, refusal->event);
		const struct gmt_api *api = gmt_recording_api(report->recording, event.api);
		bool is_host = gmt_space_side(event.space) == GMT_SIDE_HOST;
		int32_t device = is_host ? GMT_DEVICE_HOST : event.device;

		gmt_json_begin_object(json);
		render_allocator_state(event.layer, device, event.space, json);
		gmt_json_key_u64(json, "time_ns", gmt_clock_time_ns(report->recording, event.stamp));
		gmt_json_key_u64(json, "size_bytes", event.size_bytes);
		gmt_json_key_text(json, "api", api ? api->name.text : NULL);
		gmt_json_key_u64(json, "result", event.result);
		gmt_owner_json(report->traces, replay->site_stacks.items[refusal->site], event.layer,
			device, json);
		gmt_stack_json(report->traces, replay->site_stacks.items[refusal->site], json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_refused_frees(const struct gmt_report *report, struct gmt_json *json)
{
	const struct gmt_replay *replay = report->replay;

	gmt_json_key_array(json, "refused_frees");
	for (size_t i = 0; i < replay->refused_frees.count; i++) {
		const struct gmt_replay_refused_free *row = &replay->refused_frees.items[i];
		struct gmt_recording_event event = gmt_recording_event(report->recording, row->event);
		const struct gmt_api *api = gmt_recording_api(report->recording, event.api);
		uint32_t stack = report->traces->stack_of_trace[event.trace];

		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "time_ns", gmt_clock_time_ns(report->recording, event.stamp));
		gmt_json_key_u64(json, "address", event.address);
		gmt_json_key_bool(json, "live", row->is_live);
		gmt_json_key_text(json, "api", api ? api->name.text : NULL);
		gmt_json_key_u64(json, "result", event.result);
		gmt_json_key_u64(json, "own_frame", gmt_traces_own_line(report->traces, stack));
		gmt_stack_json(report->traces, stack, json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_warnings(const struct gmt_report *report, struct gmt_json *json)
{
	gmt_json_key_object(json, "anomalies");
#define GMT_ANOMALY(name, meaning) \
	gmt_json_key_u64(json, #name, report->replay->accounting.anomalies.name);
#include "accounting/anomalies.def"
#undef GMT_ANOMALY
	gmt_json_key_u64(json, "unmatched_stacks", report->traces->mismatches);
	gmt_json_key_u64(json, "missing_definitions", report->traces->missing);
	gmt_json_end_object(json);

	gmt_json_key_object(json, "symbols");
	gmt_json_key_u64(json, "addresses", report->traces->addresses);
	gmt_json_key_u64(json, "named", report->traces->named);
	gmt_json_key_u64(json, "with_line", report->traces->with_line);
	gmt_json_key_array(json, "missing");
	for (size_t i = 0; i < report->traces->problems.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "module", report->traces->problems.items[i].module);
		gmt_json_key_text(json, "why", report->traces->problems.items[i].why);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);

	gmt_recording_head_json_remarks(json, report->warnings);
	gmt_json_key_texts(json, "notes", report->recording->notes.items,
		report->recording->notes.count);
}

void gmt_report_json(const struct gmt_report *report, struct gmt_json *json)
{
	struct gmt_ooms_steps steps = gmt_ooms_steps_of(report->leaks);

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.report/2");
	gmt_json_key_text(json, "file", report->recording->path);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(report->recording));
	gmt_recording_head_json_in_progress(json, report->recording);
	render_events(report, json);
	if (report->recording->compacted.exists)
		render_compacted(report, json);
	render_process(report, json);
	gmt_json_key_known(json, "until_ns", report->has_until, report->replay->end_time_ns);

	gmt_overview_json(report, json);
	gmt_json_key_array(json, "devices");
	for (size_t i = 0; i < report->summary->devices.count; i++)
		render_device(&report->summary->devices.items[i], json);
	gmt_json_end_array(json);
	gmt_ledger_write_json(report->ledger, json);
	gmt_custom_heaps_json(&(struct gmt_custom_heaps_view){ report->recording, report->traces,
							  report->heaps },
		json);
	gmt_json_key_object(json, "host");
	render_account(&report->summary->host, json);
	gmt_json_end_object(json);

	gmt_sites_sort(report->sites, report->order);
	gmt_json_key_array(json, "sites");
	for (size_t i = 0; i < report->sites->rows.count && i < report->limit && !report->without_sites;
		i++)
		render_site(report, &report->sites->rows.items[i], json);
	gmt_json_end_array(json);

	render_refusals(report, json);
	render_refused_frees(report, json);
	gmt_steps_json(report->leaks, json);
	gmt_ooms_json(report, &steps, json);
	gmt_leaks_json(report->leaks, json);
	if (report->allocator_state)
		gmt_allocator_state_json(report->allocator_state, json);
	render_warnings(report, json);
	gmt_json_end_object(json);
}
