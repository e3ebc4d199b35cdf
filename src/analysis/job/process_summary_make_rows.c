/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analysis/job/process_summary_maker.h"
#include "analysis/tables/short_names.h"
#include "reader/load/clock.h"
#include "source/source.h"

/* Returns the line of a frame, with the names that `report` shows. */
static uint32_t place_of_frame(struct gmt_process_summary_maker *maker, uint32_t id)
{
	const struct gmt_traces *traces = maker->input->traces;
	const struct gmt_place *frame = gmt_traces_place(traces, id);
	const char *file = gmt_traces_string(traces, frame->file);
	const char *function = gmt_traces_string(traces, frame->function);
	char name[256];
	uint32_t place;
	uint64_t known;

	if (gmt_map_find(&maker->places, id, &known))
		return (uint32_t)known;
	if (gmt_traces_is_pin_thread(traces, frame)) {
		file = "";
		function = "PyTorch's pin-memory thread (DataLoader)";
	} else if (frame->kind == GMT_PLACE_NATIVE) {
		gmt_short_name_of_function(function, name, sizeof(name));
		function = name;
	}
	if (!*file && !*function)
		file = gmt_traces_string(traces, frame->module);
	file = gmt_short_name_of_file(maker->input->recording, file);
	place = gmt_job_intern_place(maker->store, file, strlen(file), function, strlen(function),
		frame->line);
	maker->is_out_of_memory |= place == UINT32_MAX || !gmt_map_put(&maker->places, id, place);
	return place;
}

static uint32_t place_of(struct gmt_process_summary_maker *maker, uint32_t stack, uint32_t own_line)
{
	uint32_t count = 0;
	const uint32_t *places =
		stack == GMT_LEAK_NO_STACK ? NULL : gmt_traces_stack(maker->input->traces, stack, &count);

	if (!count) {
		uint32_t none = gmt_job_intern_place(maker->store, "", 0, "", 0, 0);

		maker->is_out_of_memory |= none == UINT32_MAX;
		return none;
	}
	return place_of_frame(maker, places[own_line]);
}

static uint64_t weight_of(const struct gmt_summarized_place *place)
{
	return place->peak_bytes > place->end_bytes ? place->peak_bytes : place->end_bytes;
}

static int compare_weights(const void *a, const void *b)
{
	const struct gmt_summarized_place *left = a, *right = b;
	uint64_t left_bytes = weight_of(left), right_bytes = weight_of(right);

	if (left_bytes != right_bytes)
		return left_bytes > right_bytes ? -1 : 1;
	if (left->total_bytes != right->total_bytes)
		return left->total_bytes > right->total_bytes ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

static bool is_same(const struct gmt_summarized_place *a, const struct gmt_summarized_place *b)
{
	return a->place == b->place && a->layer == b->layer && a->device == b->device;
}

/* Merges equal lines, which are adjacent. Returns how many lines remain. */
static uint32_t merge(struct gmt_summarized_place *places, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct gmt_summarized_place *to = kept ? &places[kept - 1] : NULL;

		if (!to || !is_same(to, &places[i])) {
			places[kept++] = places[i];
			continue;
		}
		to->sites += places[i].sites;
		to->peak_bytes = gmt_saturating_add_u64(to->peak_bytes, places[i].peak_bytes);
		to->peak_blocks = gmt_saturating_add_u64(to->peak_blocks, places[i].peak_blocks);
		to->end_bytes = gmt_saturating_add_u64(to->end_bytes, places[i].end_bytes);
		to->end_blocks = gmt_saturating_add_u64(to->end_blocks, places[i].end_blocks);
		to->total_bytes = gmt_saturating_add_u64(to->total_bytes, places[i].total_bytes);
	}
	return kept;
}

void gmt_process_summary_make_places(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_sites *sites = maker->input->sites;

	summary->places =
		gmt_process_summary_make_rows(maker, sites->rows.count, sizeof(*summary->places));
	if (!summary->places)
		return;
	for (size_t i = 0; i < sites->rows.count; i++) {
		const struct gmt_site *site = &sites->rows.items[i];

		summary->places[i] = (struct gmt_summarized_place){
			.place = place_of(maker, site->stack, site->own_line),
			.sites = 1,
			.layer = (uint8_t)site->layer,
			.device = (int16_t)site->device,
			.peak_bytes = site->peak_bytes,
			.peak_blocks = site->peak_blocks,
			.end_bytes = site->live_at_end_bytes,
			.end_blocks = site->live_at_end_blocks,
			.total_bytes = site->total_bytes,
		};
	}
	summary->place_count = (uint32_t)sites->rows.count;
	gmt_process_summary_sort(summary);
	summary->place_count = merge(summary->places, summary->place_count);
	if (summary->place_count > GMT_SUMMARY_PLACES) {
		qsort(summary->places, summary->place_count, sizeof(*summary->places), compare_weights);
		summary->left_out_places = summary->place_count - GMT_SUMMARY_PLACES;
		summary->left_out_bytes = weight_of(&summary->places[GMT_SUMMARY_PLACES]);
		summary->place_count = GMT_SUMMARY_PLACES;
		gmt_process_summary_sort(summary);
	}
}

static struct gmt_summarized_finding make_finding(struct gmt_process_summary_maker *maker,
	const struct gmt_leak *leak)
{
	const struct gmt_process_summary_input *input = maker->input;
	const struct gmt_step_series *series = &input->timeline->series[leak->series];
	struct gmt_summarized_finding row = {
		.definition =
			gmt_process_summary_make_text(maker, gmt_leak_definition_name(leak->definition)),
		.hint = gmt_process_summary_make_text(maker, leak->hint),
		.place = place_of(maker, leak->stack, leak->own_line),
		.layer = (uint8_t)leak->layer,
		.device = (int16_t)leak->device,
		.bytes = leak->bytes,
		.blocks = leak->blocks,
	};

	if (!(1u << leak->definition & GMT_LEAK_BY_STEPS))
		return row;
	row.has_rate = leak->bytes_per_step >= 0;
	row.step_bytes = row.has_rate ? (uint64_t)(leak->bytes_per_step + 0.5) : 0;
	row.confidence_ppm = leak->confidence > 0 ? (uint32_t)(leak->confidence * 1e6 + 0.5) : 0;
	row.has_step = leak->first_step < series->steps.count;
	row.first_step = leak->first_step;
	row.steps = leak->steps;
	if (row.has_step)
		row.first_time_ns =
			gmt_clock_time_ns(input->recording, series->steps.items[leak->first_step].end);
	return row;
}

void gmt_process_summary_make_findings(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_leaks *leaks = maker->input->leaks;
	size_t count =
		leaks->rows.count < GMT_SUMMARY_FINDINGS ? leaks->rows.count : GMT_SUMMARY_FINDINGS;

	summary->finding_count = leaks->rows.count;
	summary->why_not_judged = gmt_process_summary_make_text(maker, leaks->why_growth_not_judged);
	summary->findings = gmt_process_summary_make_rows(maker, count, sizeof(*summary->findings));
	for (size_t i = 0; summary->findings && i < count; i++)
		summary->findings[summary->findings_kept++] = make_finding(maker, &leaks->rows.items[i]);
}

static struct gmt_summarized_refusal make_refusal(struct gmt_process_summary_maker *maker,
	const struct gmt_oom_row *oom)
{
	const struct gmt_process_summary_input *input = maker->input;
	struct gmt_summarized_refusal row = {
		.time_ns = oom->time_ns,
		.is_recovered = oom->recovered,
		.has_driver = oom->has_driver,
		.layer = (uint8_t)oom->layer,
		.device = (int16_t)oom->device,
		.place = place_of(maker, oom->stack, gmt_traces_own_line(input->traces, oom->stack)),
		.requested_bytes = oom->requested_bytes,
		.free_bytes = oom->free_bytes,
		.device_bytes = oom->total_bytes,
		.live_bytes = oom->live_bytes,
		.cuda_bytes = oom->cuda_bytes,
	};
	const struct gmt_step_series *series = &input->timeline->series[0];

	/* A step that failed did not end, so it is the one after the last. */
	row.has_step = input->timeline->series_count &&
		(gmt_series_find(series, oom->stamp, &row.step) ||
			(series->steps.count && series->steps.items[series->steps.count - 1].end < oom->stamp));
	if (row.has_step && series->steps.items[series->steps.count - 1].end < oom->stamp)
		row.step = (uint32_t)series->steps.count;
	return row;
}

/* Returns whether a step ended, or the process allocated on the device, after a refused request. */
static bool went_on(const struct gmt_process_summary_input *input,
	const struct gmt_oom_row *failure)
{
	const struct gmt_recording *recording = input->recording;
	const struct gmt_step_series *series = &input->timeline->series[0];

	if (input->timeline->series_count && series->steps.count &&
		series->steps.items[series->steps.count - 1].end >= failure->stamp)
		return true;
	for (size_t i = failure->event + 1; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);

		if (event.kind == GMT_KIND_ALLOC &&
			(event.device == failure->device || failure->device < 0))
			return true;
	}
	return false;
}

/* Returns whether the recording was completed after its process was killed. */
static bool was_killed(const struct gmt_recording *recording)
{
	for (size_t i = 0; i < recording->notes.count; i++)
		if (strstr(recording->notes.items[i], GMT_SOURCE_KILLED_NOTE))
			return true;
	return false;
}

/* How the process ended; see process_ends.def. */
static enum gmt_process_end find_end(const struct gmt_process_summary_input *input)
{
	const struct gmt_recording *recording = input->recording;
	const struct gmt_oom_row *failure = NULL;

	if (recording->recording_pid)
		return GMT_PROCESS_END_RUNNING;
	for (size_t i = 0; i < input->ooms->rows.count; i++)
		if (!input->ooms->rows.items[i].recovered)
			failure = &input->ooms->rows.items[i];
	if (failure && !went_on(input, failure))
		return GMT_PROCESS_END_OUT_OF_MEMORY;
	if (recording->has_end && !was_killed(recording))
		return GMT_PROCESS_END_CLEAN;
	return recording->damaged && !recording->is_cut ? GMT_PROCESS_END_UNKNOWN
													: GMT_PROCESS_END_KILLED;
}

void gmt_process_summary_make_refusals(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_ooms *ooms = maker->input->ooms;

	summary->failures = ooms->failures;
	summary->retries = ooms->retries;
	summary->end = (uint8_t)find_end(maker->input);
	summary->refusals =
		gmt_process_summary_make_rows(maker, ooms->rows.count, sizeof(*summary->refusals));
	for (size_t i = 0; summary->refusals && i < ooms->rows.count; i++)
		summary->refusals[summary->refusal_count++] = make_refusal(maker, &ooms->rows.items[i]);
}
