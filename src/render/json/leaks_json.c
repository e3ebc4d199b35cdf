/* SPDX-License-Identifier: MIT */
#include "render/leaks.h"

#include "analysis/history/categories.h"
#include "reader/load/clock.h"
#include "render/phase_memory.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

static void write_attribution(const struct gmt_leak *leak, struct gmt_json *json)
{
	gmt_json_key_array(json, "attribution");
	for (size_t i = 0; i < leak->attribution.count; i++) {
		const struct gmt_leak_attribution *row = &leak->attribution.items[i];

		if (!row->blocks)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "first_step", row->first_step);
		gmt_json_key_u64(json, "last_step", row->last_step);
		gmt_json_key_u64(json, "bytes", row->bytes);
		gmt_json_key_u64(json, "blocks", row->blocks);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_lines(const struct gmt_traces *traces, const struct gmt_leak_line *lines,
	size_t count, const char *key, struct gmt_json *json)
{
	gmt_json_key_array(json, key);
	for (size_t i = 0; i < count; i++) {
		uint32_t places_count;
		const uint32_t *places = gmt_traces_stack(traces, lines[i].stack, &places_count);
		const struct gmt_place *place =
			places_count ? gmt_traces_place(traces, places[lines[i].own_line]) : NULL;

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "layer", gmt_layer_name(lines[i].layer));
		gmt_json_key_text(json, "space", gmt_space_text(lines[i].space).text);
		gmt_json_key_device(json, lines[i].device);
		gmt_json_key_text(json, "function",
			place ? gmt_traces_string(traces, place->function) : NULL);
		gmt_json_key_text(json, "file",
			place && place->file ? gmt_traces_string(traces, place->file) : NULL);
		gmt_json_key_known(json, "line", place && place->line, place ? place->line : 0);
		gmt_json_key_u64(json, "bytes", lines[i].bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

/* Writes the fields that only the definitions growth and unexplained have. */
static void write_steps(const struct gmt_leaks_view *view, const struct gmt_leak *leak,
	struct gmt_json *json)
{
	bool is_growth = 1u << leak->definition & GMT_LEAK_BY_STEPS;

	gmt_json_key_double(json, "bytes_per_step", leak->bytes_per_step);
	gmt_json_key_double(json, "confidence", leak->confidence);
	gmt_json_key_text(json, "ground", is_growth ? gmt_leak_reason_name(leak->reason) : NULL);
	gmt_json_key_text(json, "source",
		is_growth ? gmt_step_source_name(view->timeline->series[leak->series].source) : NULL);
	gmt_json_key_known(json, "steps", is_growth, leak->steps);
	gmt_json_key_known(json, "first_step", is_growth, leak->first_step);
	gmt_json_key_known(json, "steps_to_oom", leak->steps_to_oom != UINT64_MAX, leak->steps_to_oom);
	write_attribution(leak, json);
	write_lines(view->traces, leak->rose_most.items, leak->rose_most.count, "rose_most", json);
	write_lines(view->traces, leak->followers.items, leak->followers.count, "followers", json);
}

/* Writes the stack, or an empty list if no single line stands for the finding. */
static void write_stack(const struct gmt_leaks_view *view, const struct gmt_leak *leak,
	struct gmt_json *json)
{
	if (leak->stack == GMT_LEAK_NO_STACK) {
		gmt_json_key_text(json, "category", NULL);
		gmt_json_key_text(json, "owner", NULL);
		gmt_json_key_text(json, "hint", NULL);
		gmt_json_key_text(json, "own_frame", NULL);
		gmt_json_key_array(json, "stack");
		gmt_json_end_array(json);
		return;
	}
	gmt_json_key_text(json, "category", gmt_category_name((enum gmt_category)leak->category));
	gmt_owner_json(view->traces, leak->stack, leak->layer, leak->device, json);
	gmt_json_key_text(json, "hint", leak->hint);
	gmt_json_key_u64(json, "own_frame", leak->own_line);
	gmt_stack_json(view->traces, leak->stack, json);
}

static void write_stacks(const struct gmt_leaks_view *view, const struct gmt_leak *leak,
	struct gmt_json *json)
{
	gmt_json_key_array(json, "stacks");
	for (size_t i = 0; leak->stacks.count > 1 && i < leak->stacks.count; i++) {
		const struct gmt_leak_stack *row = &leak->stacks.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "bytes", row->bytes);
		gmt_json_key_u64(json, "blocks", row->blocks);
		gmt_json_key_u64(json, "own_frame", row->own_line);
		gmt_stack_json(view->traces, row->stack, json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_freed_stack(const struct gmt_leaks_view *view, const struct gmt_leak *leak,
	struct gmt_json *json)
{
	gmt_json_key(json, "freed");
	if (!leak->freed_stack_plus_1) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_stack_json(view->traces, leak->freed_stack_plus_1 - 1, json);
	gmt_json_end_object(json);
}

static void write_leak(const struct gmt_leaks_view *view, const struct gmt_leak *leak,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "definition", gmt_leak_definition_name(leak->definition));
	gmt_json_key_text(json, "layer", gmt_layer_name(leak->layer));
	gmt_json_key_device(json, leak->device);
	gmt_json_key_text(json, "space", gmt_space_text(leak->space).text);
	gmt_json_key_u64(json, "bytes", leak->bytes);
	gmt_json_key_known(json, "blocks", leak->definition != GMT_LEAK_UNEXPLAINED, leak->blocks);
	write_steps(view, leak, json);
	gmt_json_key_text(json, "phase", leak->phase);
	gmt_json_key_text(json, "heap", leak->heap);
	write_stack(view, leak, json);
	write_stacks(view, leak, json);
	write_freed_stack(view, leak, json);
	gmt_json_end_object(json);
}

static void write_arenas(const struct gmt_leaks_view *view, struct gmt_json *json)
{
	gmt_json_key_array(json, "arenas");
	for (size_t i = 0; i < view->leaks->arenas.rows.count; i++) {
		const struct gmt_arena_row *row = &view->leaks->arenas.rows.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "owner", row->name);
		gmt_json_key_device(json, row->device);
		gmt_json_key_u64(json, "live_bytes", row->live_bytes);
		gmt_json_key_u64(json, "peak_bytes", row->peak_bytes);
		gmt_json_key_u64(json, "allocs", row->alloc_count);
		gmt_json_key_bool(json, "certain", row->is_certain);
		gmt_json_key_bool(json, "blocks_are_seen", row->is_seen);
		gmt_json_key_text(json, "setting", row->setting);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

void gmt_leaks_json(const struct gmt_leaks_view *view, struct gmt_json *json)
{
	gmt_json_key_array(json, "leaks");
	for (size_t i = 0; i < view->leaks->rows.count; i++)
		write_leak(view, &view->leaks->rows.items[i], json);
	gmt_json_end_array(json);
	gmt_json_key_array(json, "cached");
	for (size_t i = 0; i < view->leaks->cached.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_device(json, view->leaks->cached.items[i].device);
		gmt_json_key_u64(json, "bytes", view->leaks->cached.items[i].bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	write_arenas(view, json);
	write_lines(view->traces, view->leaks->given_back.items, view->leaks->given_back.count,
		"given_back", json);
	write_lines(view->traces, view->leaks->levels_off.items, view->leaks->levels_off.count,
		"levels_off", json);
	gmt_json_key_text(json, "growth_not_judged", view->leaks->why_growth_not_judged);
	gmt_json_key_text(json, "phases_not_judged", view->leaks->why_phases_not_judged);
	gmt_json_key_text(json, "end_not_judged", view->leaks->why_end_not_judged);
}

static void write_step(const struct gmt_leaks_view *view, size_t series, size_t step,
	struct gmt_json *json)
{
	const struct gmt_step_series *steps = &view->timeline->series[series];
	const struct gmt_history_series *history = &view->history->series[series];

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "index", step);
	gmt_json_key_text(json, "source", gmt_step_source_name(steps->source));
	gmt_json_key_u64(json, "begin_ns",
		gmt_clock_time_ns(view->recording, steps->steps.items[step].begin));
	gmt_json_key_u64(json, "end_ns",
		gmt_clock_time_ns(view->recording, steps->steps.items[step].end));
	gmt_json_key_array(json, "devices");
	for (size_t i = 0; i < view->replay->accounting.accounts.count && i < GMT_HISTORY_ACCOUNTS;
		i++) {
		struct gmt_history_step row = gmt_history_step_of(history, step, i);

		/* Omit accounts that never held memory, for example layer driver. */
		if (!view->replay->accounting.accounts.items[i].peak_bytes)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_device(json, view->replay->accounting.accounts.items[i].device);
		gmt_json_key_text(json, "layer",
			gmt_layer_name(view->replay->accounting.accounts.items[i].layer));
		gmt_json_key_u64(json, "peak_bytes", row.peak_bytes);
		gmt_json_key_u64(json, "end_live_bytes", row.end_live_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void write_parts(const struct gmt_leaks_view *view, struct gmt_json *json)
{
	const struct gmt_step_parts *parts = view->step_parts;

	gmt_json_key_array(json, "step_parts");
	for (size_t i = 0; i < parts->rows.count; i++) {
		const struct gmt_account *account =
			&view->replay->accounting.accounts.items[i / GMT_STEP_PARTS];
		const struct gmt_step_parts_row *row = &parts->rows.items[i];

		if (!row->times || !gmt_layer_can_leak(account->layer))
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_device(json, account->device);
		gmt_json_key_text(json, "layer", gmt_layer_name(account->layer));
		gmt_json_key_text(json, "part", gmt_step_parts_name((unsigned)(i % GMT_STEP_PARTS)));
		gmt_json_key_u64(json, "times", row->times);
		gmt_json_key_u64(json, "made_bytes", row->made_bytes);
		gmt_json_key_u64(json, "carried_bytes", row->carried_bytes);
		gmt_json_key_known(json, "kept_bytes", row->kept_bytes >= 0,
			row->kept_bytes >= 0 ? (uint64_t)(row->kept_bytes + 0.5) : 0);
		gmt_json_key_u64(json, "peak_bytes", row->peak_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

/* Returns the largest peak of an account in a step. */
static uint64_t largest_peak(const struct gmt_leaks_view *view, size_t series, size_t step)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < view->replay->accounting.accounts.count && i < GMT_HISTORY_ACCOUNTS;
		i++) {
		uint64_t peak = gmt_history_step_of(&view->history->series[series], step, i).peak_bytes;

		largest = peak > largest ? peak : largest;
	}
	return largest;
}

static void write_steps_of(const struct gmt_leaks_view *view, size_t series, struct gmt_json *json)
{
	size_t count = view->history->series[series].step_count,
		   parts = view->is_bounded && count > GMT_LEAKS_MAX_STEPS ? GMT_LEAKS_MAX_STEPS : count;

	for (size_t part = 0; part < parts; part++) {
		size_t chosen = part * count / parts, end = (part + 1) * count / parts;
		uint64_t largest = end - chosen > 1 ? largest_peak(view, series, chosen) : 0;

		for (size_t step = chosen + 1; step < end; step++) {
			uint64_t peak = largest_peak(view, series, step);

			chosen = peak > largest ? step : chosen;
			largest = peak > largest ? peak : largest;
		}
		write_step(view, series, chosen, json);
	}
}

void gmt_steps_json(const struct gmt_leaks_view *view, struct gmt_json *json)
{
	const struct gmt_timeline *timeline = view->timeline;
	size_t phases = view->is_bounded && timeline->phases.count > GMT_LEAKS_MAX_PHASES
		? 0
		: timeline->phases.count;

	gmt_json_key_array(json, "steps");
	for (size_t series = 0; series < timeline->series_count; series++)
		write_steps_of(view, series, json);
	gmt_json_end_array(json);
	gmt_json_key_text(json, "no_steps", timeline->why_no_steps);
	if (view->step_parts)
		write_parts(view, json);
	gmt_json_key_array(json, "phases");
	for (size_t i = 0; i < phases; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", phase->name);
		gmt_json_key_u64(json, "begin_ns", gmt_clock_time_ns(view->recording, phase->begin));
		gmt_json_key_u64(json, "end_ns", gmt_clock_time_ns(view->recording, phase->end));
		gmt_json_key_u64(json, "thread", phase->thread);
		gmt_json_key_text(json, "source", gmt_mark_source_name(phase->source));
		gmt_json_key_u64(json, "depth", phase->depth);
		if (view->phase_memory && !view->is_bounded)
			gmt_phase_memory_json(&view->phase_memory->phases.items[i], view->recording, json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}
