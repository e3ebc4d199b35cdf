/* SPDX-License-Identifier: MIT */
#include "render/leaks.h"

#include <string.h>

#include "analysis/history/categories.h"
#include "analysis/tables/stack_summary.h"
#include "base/text.h"
#include "render/memory_names.h"

enum { BRIEF_LEAKS = 3, BRIEF_FRAMES = 4, LINES = 3 };

static void bold(const struct gmt_console *console, const char *text)
{
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	fputs(text, console->file);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
}

static void write_line(const struct gmt_leaks_view *view, const struct gmt_console *console,
	uint32_t stack, uint32_t own_line)
{
	gmt_console_own_line(console, view->recording, view->traces, stack, own_line);
}

static void write_place(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_leak *leak)
{
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	if (leak->stack == GMT_LEAK_NO_STACK)
		fputs("no single line", console->file);
	else
		write_line(view, console, leak->stack, leak->own_line);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fprintf(console->file, "  [%s, ", gmt_layer_name(leak->layer));
	if (leak->device == GMT_DEVICE_HOST)
		fprintf(console->file, "host, %s", gmt_space_text(leak->space).text);
	else if (leak->device < 0)
		fputs("GPU not known", console->file);
	else
		fprintf(console->file, "GPU %d", leak->device);
	if (leak->layer == GMT_LAYER_TORCH && leak->stack != GMT_LEAK_NO_STACK)
		fprintf(console->file, ", %s", gmt_category_name((enum gmt_category)leak->category));
	if (leak->heap && leak->heap[0]) {
		fputs(", heap ", console->file);
		gmt_console_text(console, leak->heap);
	}
	fputc(']', console->file);
}

static void write_growth(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_leak *leak)
{
	fprintf(console->file, "            %s in %s block%s after %s steps (%s), since step %u\n",
		gmt_text_size(leak->bytes).text, gmt_text_count(leak->blocks).text,
		leak->blocks == 1 ? "" : "s",
		gmt_text_count(view->history->series[leak->series].step_count).text,
		gmt_step_source_name(view->timeline->series[leak->series].source), leak->first_step);
	fprintf(console->file, "            %s; confidence %.0f %%\n",
		gmt_leak_reason_words(leak->reason), 100 * leak->confidence);
	if (leak->steps_to_oom != UINT64_MAX)
		fprintf(console->file, "            at this rate the GPU is full in %s steps\n",
			gmt_text_count(leak->steps_to_oom).text);
}

static void write_unexplained(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_leak *leak)
{
	fprintf(console->file, "            %s in %s steps (%s), since step %u\n",
		gmt_text_size(leak->bytes).text,
		gmt_text_count(view->history->series[leak->series].step_count).text,
		gmt_step_source_name(view->timeline->series[leak->series].source), leak->first_step);
	if (leak->steps_to_oom != UINT64_MAX)
		fprintf(console->file, "            at this rate the GPU is full in %s steps\n",
			gmt_text_count(leak->steps_to_oom).text);
	fprintf(console->file, "            %s; confidence %.0f %%; grew most:\n",
		gmt_leak_reason_words(leak->reason), 100 * leak->confidence);
	for (size_t i = 0; i < leak->rose_most.count; i++) {
		fputs("              ", console->file);
		write_line(view, console, leak->rose_most.items[i].stack,
			leak->rose_most.items[i].own_line);
		fprintf(console->file, "  +%s\n", gmt_text_size(leak->rose_most.items[i].bytes).text);
	}
}

/*
 * Writes, for example, "allocated in steps 0 to 2: 1.50 KiB in 3 blocks; ...". Joins neighbouring
 * ranges with the same amount per step.
 */
static void write_attribution(const struct gmt_console *console, const struct gmt_leak *leak)
{
	const struct gmt_leak_attribution *attribution = leak->attribution.items;
	size_t shown = 0;

	fputs("            allocated in", console->file);
	for (size_t i = 0; i < leak->attribution.count && shown < 4;) {
		struct gmt_leak_attribution run = attribution[i];
		uint64_t a_step = run.bytes / (run.last_step - run.first_step + 1);

		for (i++; i < leak->attribution.count &&
			attribution[i].bytes / (attribution[i].last_step - attribution[i].first_step + 1) ==
				a_step;
			i++) {
			run.last_step = attribution[i].last_step;
			run.bytes += attribution[i].bytes;
			run.blocks += attribution[i].blocks;
		}
		if (!run.blocks)
			continue;
		fprintf(console->file, "%s steps %u to %u: %s in %s block%s", shown++ ? ";" : "",
			run.first_step, run.last_step, gmt_text_size(run.bytes).text,
			gmt_text_count(run.blocks).text, run.blocks == 1 ? "" : "s");
	}
	fputs(shown >= 4 ? "; ...\n" : "\n", console->file);
}

static bool write_stack(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const char *title, uint32_t stack, uint32_t own_line)
{
	struct gmt_stack_summary summary = { 0 };
	uint64_t limit = view->brief && view->frames > BRIEF_FRAMES ? BRIEF_FRAMES : view->frames;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(view->traces, stack, &count);
	bool done = gmt_stack_summary_make(&summary, view->traces, stack);

	gmt_console_style(console, GMT_CONSOLE_DIM);
	if (done && summary.lines.count && limit)
		fprintf(console->file, "            %s:\n", title);
	for (size_t i = 0; done && i < summary.lines.count && i < limit; i++) {
		const struct gmt_stack_summary_line *line = &summary.lines.items[i];

		fputs(line->frame == own_line ? "            > " : "              ", console->file);
		gmt_console_place(console, view->recording, view->traces, places[line->frame]);
		if (line->hidden)
			fprintf(console->file, " (+%u)", line->hidden);
		fputc('\n', console->file);
	}
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	gmt_stack_summary_fini(&summary);
	return done;
}

/* Writes each stack with its amount, because several leaks may share a line. */
static bool write_stacks(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_leak *leak)
{
	size_t shown = view->brief || leak->stacks.count < 2 ? 0 : leak->stacks.count;

	if (!shown && !write_stack(view, console, "allocated here", leak->stack, leak->own_line))
		return false;
	for (size_t i = 0; i < shown; i++) {
		const struct gmt_leak_stack *row = &leak->stacks.items[i];
		char title[128];

		snprintf(title, sizeof(title), "%s in %s block%s allocated here",
			gmt_text_size(row->bytes).text, gmt_text_count(row->blocks).text,
			row->blocks == 1 ? "" : "s");
		if (!write_stack(view, console, title, row->stack, row->own_line))
			return false;
	}
	if (shown && leak->sites > shown)
		fprintf(console->file,
			"            the rest comes from %s other stack%s through this line\n",
			gmt_text_count(leak->sites - shown).text, leak->sites - shown == 1 ? "" : "s");
	return true;
}

struct gmt_leak_amount gmt_leak_amount(const struct gmt_leak *leak)
{
	struct gmt_leak_amount amount;

	if (1u << leak->definition & GMT_LEAK_BY_STEPS)
		snprintf(amount.text, sizeof(amount.text), "+%s a step",
			gmt_text_size((uint64_t)(leak->bytes_per_step + 0.5)).text);
	else
		snprintf(amount.text, sizeof(amount.text), "%s", gmt_text_size(leak->bytes).text);
	return amount;
}

static bool write_leak(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_leak *leak)
{
	fputs("  ", console->file);
	gmt_console_style(console, GMT_CONSOLE_WARN);
	fprintf(console->file, "%-8s", gmt_leak_definition_name(leak->definition));
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fprintf(console->file, "  %s  ", gmt_leak_amount(leak).text);
	write_place(view, console, leak);
	fputc('\n', console->file);
	if (leak->definition == GMT_LEAK_GROWTH) {
		write_growth(view, console, leak);
		if (!view->brief)
			write_attribution(console, leak);
	} else if (leak->definition == GMT_LEAK_UNEXPLAINED) {
		write_unexplained(view, console, leak);
		return true;
	} else {
		fprintf(console->file, "            %s block%s%s", gmt_text_count(leak->blocks).text,
			leak->blocks == 1 ? "" : "s", leak->phase ? ", allocated in phase " : "");
		if (leak->phase)
			gmt_console_text(console, leak->phase);
		fputc('\n', console->file);
	}
	if (leak->hint)
		gmt_console_wrap(console->file, 12, 12, leak->hint);
	for (size_t i = 0; i < leak->followers.count; i++) {
		fprintf(console->file,
			"            allocated again in each step, in proportion, so not itself a leak: ");
		write_line(view, console, leak->followers.items[i].stack,
			leak->followers.items[i].own_line);
		fprintf(console->file, "  +%s\n", gmt_text_size(leak->followers.items[i].bytes).text);
	}
	if (!write_stacks(view, console, leak))
		return false;
	return view->brief || !leak->freed_stack_plus_1 ||
		write_stack(view, console, "other blocks of this stack are freed here",
			leak->freed_stack_plus_1 - 1, UINT32_MAX);
}

static void write_counters(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	const struct gmt_timeline *timeline = view->timeline;

	for (size_t i = 0; i < timeline->series_count; i++) {
		const struct gmt_step_series *series = &timeline->series[i];

		fprintf(console->file, "%s%s steps by %s", i ? ", " : "",
			gmt_text_count(view->history->series[i].step_count).text,
			gmt_step_source_name(series->source));
		if (*series->name) {
			fputs(" (", console->file);
			gmt_console_text(console, series->name);
			fputc(')', console->file);
		}
	}
}

static void write_arena(const struct gmt_leaks_view *view, const struct gmt_console *console,
	const struct gmt_arena_row *row)
{
	uint64_t most_bytes = row->peak_bytes > row->live_bytes ? row->peak_bytes : row->live_bytes;
	bool is_host = row->device == GMT_DEVICE_HOST;

	if (view->brief && (is_host || row->is_seen))
		return;
	fprintf(console->file, "  arena     %s ", gmt_text_size(most_bytes).text);
	if (is_host)
		fputs("of pinned host memory", console->file);
	else
		fprintf(console->file, "on GPU %d", row->device);
	fputs(" in the arena of ", console->file);
	gmt_console_text(console, row->name);
	fputs(row->is_seen ? ": no leak; its blocks are judged as blocks of the heap of that name\n"
			: is_host  ? ": not judged\n"
					   : ": leaks inside cannot be found, because its blocks are not recorded\n",
		console->file);
	if (!row->is_seen && !is_host && row->setting)
		fprintf(console->file, "            to record its blocks, %s\n", row->setting);
}

static void write_not_judged(const struct gmt_console *console, const char *what, const char *why)
{
	char text[500];

	if (!why)
		return;
	snprintf(text, sizeof(text), "%s: %s", what, why);
	gmt_console_wrap(console->file, 2, 4, text);
}

static void write_verdict(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	const struct gmt_arena_row *unseen = gmt_arenas_unseen_on_gpus(&view->leaks->arenas);
	size_t count = view->leaks->rows.count;
	char title[64];

	fputc('\n', console->file);
	if (count) {
		snprintf(title, sizeof(title), "Leaks: %s finding%s", gmt_text_count(count).text,
			count == 1 ? "" : "s");
		bold(console, title);
	} else if (unseen) {
		bold(console, "Leaks: none found outside of ");
		gmt_console_text(console, unseen->name);
		fputs("'s arena", console->file);
	} else {
		bold(console,
			view->leaks->is_compacted_away ? "Leaks: none found in the part that could be judged"
										   : "Leaks: none found");
	}
	if (view->timeline->series_count) {
		fputs(" over ", console->file);
		write_counters(view, console);
	}
	fputc('\n', console->file);
	write_not_judged(console, "growth was not judged", view->leaks->why_growth_not_judged);
	write_not_judged(console, "leaks from phases were not judged",
		view->leaks->why_phases_not_judged);
	write_not_judged(console,
		gmt_recording_is_imported(view->recording) ? "age and exit were not judged"
												   : "age, exit and cached memory were not judged",
		view->leaks->why_end_not_judged);
}

/* Writes the largest lines of both lists. Each list is sorted, largest first. */
static void write_bounded(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	const struct gmt_leaks *leaks = view->leaks;
	size_t back = 0, off = 0;

	for (int shown = 0;
		shown < LINES && (back < leaks->given_back.count || off < leaks->levels_off.count);
		shown++) {
		bool is_back = back < leaks->given_back.count &&
			(off == leaks->levels_off.count ||
				leaks->given_back.items[back].bytes >= leaks->levels_off.items[off].bytes);
		const struct gmt_leak_line *line =
			is_back ? &leaks->given_back.items[back++] : &leaks->levels_off.items[off++];

		fputs(is_back ? "  no leak   grows, but is freed again: "
					  : "  no leak   grows, but levels off: ",
			console->file);
		write_line(view, console, line->stack, line->own_line);
		fprintf(console->file, ", up to %s\n", gmt_text_size(line->bytes).text);
	}
}

static void write_rest(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	for (size_t i = 0; i < view->leaks->arenas.rows.count; i++)
		write_arena(view, console, &view->leaks->arenas.rows.items[i]);
	for (size_t i = 0; i < view->leaks->cached.count && !view->brief; i++)
		fprintf(console->file,
			"  cached    %s on GPU %d in PyTorch's cache, without live blocks: no leak\n",
			gmt_text_size(view->leaks->cached.items[i].bytes).text,
			view->leaks->cached.items[i].device);
	if (!view->brief && view->leaks->rows.count &&
		strcmp(gmt_recording_option(view->recording, "free_stacks"), "on") != 0)
		fputs("  The stacks of frees were not recorded: record with free_stacks=on to see them.\n",
			console->file);
}

static void write_next(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	fputs("\nnext: gpumemtrace report ", console->file);
	gmt_console_argument(console, view->recording->path);
	fputs("   # memory by step, composition of the peak\n      gpumemtrace check ", console->file);
	gmt_console_argument(console, view->recording->path);
	fputs("   # the same findings as a verdict for CI\n", console->file);
}

bool gmt_leaks_text(const struct gmt_leaks_view *view, const struct gmt_console *console)
{
	uint64_t limit = view->limit != UINT64_MAX ? view->limit
		: view->brief                          ? BRIEF_LEAKS
											   : UINT64_MAX;
	size_t count = view->leaks->rows.count;

	write_verdict(view, console);
	for (size_t i = 0; i < count && i < limit; i++)
		if (!write_leak(view, console, &view->leaks->rows.items[i]))
			return false;
	if (count > limit)
		fprintf(console->file, "  and %s more\n", gmt_text_count(count - limit).text);
	write_bounded(view, console);
	write_rest(view, console);
	if (!view->brief)
		write_next(view, console);
	return true;
}
