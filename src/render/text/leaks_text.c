/* SPDX-License-Identifier: MIT */
#include "render/leaks.h"

#include <string.h>

#include "analysis/history/categories.h"
#include "analysis/tables/stack_summary.h"
#include "base/text.h"
#include "render/space.h"

enum { BRIEF_LEAKS = 3, BRIEF_FRAMES = 4, LINES = 3 };

static void bold(const struct gmt_plain *plain, const char *text)
{
	gmt_plain_style(plain, GMT_PLAIN_BOLD);
	fputs(text, plain->file);
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
}

static void write_line(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	uint32_t stack, uint32_t own_line)
{
	gmt_plain_own_line(plain, view->recording, view->traces, stack, own_line);
}

static void write_place(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_leak *leak)
{
	gmt_plain_style(plain, GMT_PLAIN_BOLD);
	if (leak->stack == GMT_LEAK_NO_STACK)
		fputs("no single line", plain->file);
	else
		write_line(view, plain, leak->stack, leak->own_line);
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	fprintf(plain->file, "  [%s, ", gmt_layer_name(leak->layer));
	if (leak->device == GMT_DEVICE_HOST)
		fprintf(plain->file, "host, %s", gmt_space_text(leak->space).text);
	else if (leak->device < 0)
		fputs("GPU not known", plain->file);
	else
		fprintf(plain->file, "GPU %d", leak->device);
	if (leak->layer == GMT_LAYER_TORCH && leak->stack != GMT_LEAK_NO_STACK)
		fprintf(plain->file, ", %s", gmt_category_name((enum gmt_category)leak->category));
	if (leak->heap && leak->heap[0]) {
		fputs(", heap ", plain->file);
		gmt_plain_text(plain, leak->heap);
	}
	fputc(']', plain->file);
}

static void write_growth(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_leak *leak)
{
	fprintf(plain->file, "            %s in %s block%s after %s steps (%s), since step %u\n",
		gmt_text_size(leak->bytes).text, gmt_text_count(leak->blocks).text,
		leak->blocks == 1 ? "" : "s",
		gmt_text_count(view->history->series[leak->series].step_count).text,
		gmt_step_source_name(view->timeline->series[leak->series].source), leak->first_step);
	fprintf(plain->file, "            %s; confidence %.0f %%\n",
		gmt_leak_ground_words(leak->ground), 100 * leak->confidence);
	if (leak->steps_to_oom != UINT64_MAX)
		fprintf(plain->file, "            at this rate the GPU is full in %s steps\n",
			gmt_text_count(leak->steps_to_oom).text);
}

static void write_unexplained(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_leak *leak)
{
	fprintf(plain->file, "            %s in %s steps (%s), since step %u\n",
		gmt_text_size(leak->bytes).text,
		gmt_text_count(view->history->series[leak->series].step_count).text,
		gmt_step_source_name(view->timeline->series[leak->series].source), leak->first_step);
	if (leak->steps_to_oom != UINT64_MAX)
		fprintf(plain->file, "            at this rate the GPU is full in %s steps\n",
			gmt_text_count(leak->steps_to_oom).text);
	fprintf(plain->file, "            %s; confidence %.0f %%; grew most:\n",
		gmt_leak_ground_words(leak->ground), 100 * leak->confidence);
	for (size_t i = 0; i < leak->rose_most.count; i++) {
		fputs("              ", plain->file);
		write_line(view, plain, leak->rose_most.items[i].stack, leak->rose_most.items[i].own_line);
		fprintf(plain->file, "  +%s\n", gmt_text_size(leak->rose_most.items[i].bytes).text);
	}
}

/*
 * Writes, for example, "allocated in steps 0 to 2: 1.50 KiB in 3 blocks; ...". Joins neighbouring ranges
 * with the same amount per step.
 */
static void write_attribution(const struct gmt_plain *plain, const struct gmt_leak *leak)
{
	const struct gmt_leak_attribution *attribution = leak->attribution.items;
	size_t shown = 0;

	fputs("            allocated in", plain->file);
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
		fprintf(plain->file, "%s steps %u to %u: %s in %s block%s", shown++ ? ";" : "",
			run.first_step, run.last_step, gmt_text_size(run.bytes).text,
			gmt_text_count(run.blocks).text, run.blocks == 1 ? "" : "s");
	}
	fputs(shown >= 4 ? "; ...\n" : "\n", plain->file);
}

static bool write_stack(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const char *title, uint32_t stack, uint32_t own_line)
{
	struct gmt_stack_summary summary = { 0 };
	uint64_t limit = view->brief && view->frames > BRIEF_FRAMES ? BRIEF_FRAMES : view->frames;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(view->traces, stack, &count);
	bool done = gmt_stack_summary_make(&summary, view->traces, stack);

	gmt_plain_style(plain, GMT_PLAIN_DIM);
	if (done && summary.lines.count && limit)
		fprintf(plain->file, "            %s:\n", title);
	for (size_t i = 0; done && i < summary.lines.count && i < limit; i++) {
		const struct gmt_stack_summary_line *line = &summary.lines.items[i];

		fputs(line->frame == own_line ? "            > " : "              ", plain->file);
		gmt_plain_place(plain, view->recording, view->traces, places[line->frame]);
		if (line->hidden)
			fprintf(plain->file, " (+%u)", line->hidden);
		fputc('\n', plain->file);
	}
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	gmt_stack_summary_fini(&summary);
	return done;
}

/* Writes each stack with its amount, because several leaks may share a line. */
static bool write_stacks(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_leak *leak)
{
	size_t shown = view->brief || leak->stacks.count < 2 ? 0 : leak->stacks.count;

	if (!shown && !write_stack(view, plain, "allocated here", leak->stack, leak->own_line))
		return false;
	for (size_t i = 0; i < shown; i++) {
		const struct gmt_leak_stack *row = &leak->stacks.items[i];
		char title[128];

		snprintf(title, sizeof(title), "%s in %s block%s allocated here",
			gmt_text_size(row->bytes).text, gmt_text_count(row->blocks).text,
			row->blocks == 1 ? "" : "s");
		if (!write_stack(view, plain, title, row->stack, row->own_line))
			return false;
	}
	if (shown && leak->sites > shown)
		fprintf(plain->file, "            the rest comes from %s other stack%s through this line\n",
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

static bool write_leak(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_leak *leak)
{
	fputs("  ", plain->file);
	gmt_plain_style(plain, GMT_PLAIN_WARN);
	fprintf(plain->file, "%-8s", gmt_leak_definition_name(leak->definition));
	gmt_plain_style(plain, GMT_PLAIN_NORMAL);
	fprintf(plain->file, "  %s  ", gmt_leak_amount(leak).text);
	write_place(view, plain, leak);
	fputc('\n', plain->file);
	if (leak->definition == GMT_LEAK_GROWTH) {
		write_growth(view, plain, leak);
		if (!view->brief)
			write_attribution(plain, leak);
	} else if (leak->definition == GMT_LEAK_UNEXPLAINED) {
		write_unexplained(view, plain, leak);
		return true;
	} else {
		fprintf(plain->file, "            %s block%s%s", gmt_text_count(leak->blocks).text,
			leak->blocks == 1 ? "" : "s", leak->phase ? ", allocated in phase " : "");
		if (leak->phase)
			gmt_plain_text(plain, leak->phase);
		fputc('\n', plain->file);
	}
	if (leak->hint)
		gmt_plain_wrap(plain->file, 12, 12, leak->hint);
	for (size_t i = 0; i < leak->followers.count; i++) {
		fprintf(plain->file,
			"            allocated again in each step, in proportion, so not itself a leak: ");
		write_line(view, plain, leak->followers.items[i].stack, leak->followers.items[i].own_line);
		fprintf(plain->file, "  +%s\n", gmt_text_size(leak->followers.items[i].bytes).text);
	}
	if (!write_stacks(view, plain, leak))
		return false;
	return view->brief || !leak->freed_stack_plus_1 ||
		write_stack(view, plain, "other blocks of this stack are freed here",
			leak->freed_stack_plus_1 - 1, UINT32_MAX);
}

static void write_counters(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	const struct gmt_timeline *timeline = view->timeline;

	for (size_t i = 0; i < timeline->series_count; i++) {
		const struct gmt_step_series *series = &timeline->series[i];

		fprintf(plain->file, "%s%s steps by %s", i ? ", " : "",
			gmt_text_count(view->history->series[i].step_count).text,
			gmt_step_source_name(series->source));
		if (*series->name) {
			fputs(" (", plain->file);
			gmt_plain_text(plain, series->name);
			fputc(')', plain->file);
		}
	}
}

static void write_arena(const struct gmt_leaks_view *view, const struct gmt_plain *plain,
	const struct gmt_arena_row *row)
{
	uint64_t most_bytes = row->peak_bytes > row->live_bytes ? row->peak_bytes : row->live_bytes;
	bool is_host = row->device == GMT_DEVICE_HOST;

	if (view->brief && (is_host || row->is_seen))
		return;
	fprintf(plain->file, "  arena     %s ", gmt_text_size(most_bytes).text);
	if (is_host)
		fputs("of pinned host memory", plain->file);
	else
		fprintf(plain->file, "on GPU %d", row->device);
	fputs(" in the arena of ", plain->file);
	gmt_plain_text(plain, row->name);
	fputs(row->is_seen ? ": no leak; its blocks are judged as blocks of the heap of that name\n"
			: is_host  ? ": not judged\n"
					   : ": leaks inside cannot be found, because its blocks are not recorded\n",
		plain->file);
	if (!row->is_seen && !is_host && row->setting)
		fprintf(plain->file, "            to record its blocks, %s\n", row->setting);
}

static void write_not_judged(const struct gmt_plain *plain, const char *what, const char *why)
{
	char text[500];

	if (!why)
		return;
	snprintf(text, sizeof(text), "%s: %s", what, why);
	gmt_plain_wrap(plain->file, 2, 4, text);
}

static void write_verdict(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	const struct gmt_arena_row *unseen = gmt_arenas_unseen_on_gpus(&view->leaks->arenas);
	size_t count = view->leaks->rows.count;
	char title[64];

	fputc('\n', plain->file);
	if (count) {
		snprintf(title, sizeof(title), "Leaks: %s finding%s", gmt_text_count(count).text,
			count == 1 ? "" : "s");
		bold(plain, title);
	} else if (unseen) {
		bold(plain, "Leaks: none found outside of ");
		gmt_plain_text(plain, unseen->name);
		fputs("'s arena", plain->file);
	} else {
		bold(plain,
			view->leaks->is_compacted_away ? "Leaks: none found in the part that could be judged"
										   : "Leaks: none found");
	}
	if (view->timeline->series_count) {
		fputs(" over ", plain->file);
		write_counters(view, plain);
	}
	fputc('\n', plain->file);
	write_not_judged(plain, "growth was not judged", view->leaks->why_growth_not_judged);
	write_not_judged(plain, "leaks from phases were not judged",
		view->leaks->why_phases_not_judged);
	write_not_judged(plain, "age, exit and cached memory were not judged",
		view->leaks->why_end_not_judged);
}

/* Writes the largest lines of both lists. Each list is sorted, largest first. */
static void write_bounded(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
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
			plain->file);
		write_line(view, plain, line->stack, line->own_line);
		fprintf(plain->file, ", up to %s\n", gmt_text_size(line->bytes).text);
	}
}

static void write_rest(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	for (size_t i = 0; i < view->leaks->arenas.rows.count; i++)
		write_arena(view, plain, &view->leaks->arenas.rows.items[i]);
	for (size_t i = 0; i < view->leaks->cached.count && !view->brief; i++)
		fprintf(plain->file,
			"  cached    %s on GPU %d in PyTorch's cache, without live blocks: no leak\n",
			gmt_text_size(view->leaks->cached.items[i].bytes).text,
			view->leaks->cached.items[i].device);
	if (!view->brief && view->leaks->rows.count &&
		strcmp(gmt_recording_option(view->recording, "free_stacks"), "on") != 0)
		fputs("  The stacks of frees were not recorded: record with free_stacks=on to see them.\n",
			plain->file);
}

static void write_next(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	fputs("\nnext: gpumemtrace report ", plain->file);
	gmt_plain_argument(plain, view->recording->path);
	fputs("   # memory by step, composition of the peak\n      gpumemtrace check ", plain->file);
	gmt_plain_argument(plain, view->recording->path);
	fputs("   # the same findings as a verdict for CI\n", plain->file);
}

bool gmt_leaks_text(const struct gmt_leaks_view *view, const struct gmt_plain *plain)
{
	uint64_t limit = view->limit != UINT64_MAX ? view->limit
		: view->brief                          ? BRIEF_LEAKS
											   : UINT64_MAX;
	size_t count = view->leaks->rows.count;

	write_verdict(view, plain);
	for (size_t i = 0; i < count && i < limit; i++)
		if (!write_leak(view, plain, &view->leaks->rows.items[i]))
			return false;
	if (count > limit)
		fprintf(plain->file, "  and %s more\n", gmt_text_count(count - limit).text);
	write_bounded(view, plain);
	write_rest(view, plain);
	if (!view->brief)
		write_next(view, plain);
	return true;
}
