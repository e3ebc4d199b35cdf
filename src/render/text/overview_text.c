/* SPDX-License-Identifier: MIT */
#include "render/overview.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recording/recorded_program.h"
#include "base/text.h"
#include "render/lines/screen_lines.h"
#include "render/memory_names.h"

enum {
	LABEL = 16, /* columns of the labels at the left */
	LEAKS_SHOWN = 3,
	GPUS_SHOWN = 4,
	BAR_ROWS = 3,
	MAX_BARS = 96,
	WARNINGS_SHOWN = 2,
};

struct writer {
	const struct gmt_report *report;
	const struct gmt_overview *overview;
	struct gmt_screen screen;
};

__attribute__((format(printf, 2, 3))) static void write(struct writer *writer, const char *format,
	...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(writer->screen.line.file, format, arguments);
	va_end(arguments);
}

static void end_line(struct writer *writer)
{
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_NORMAL);
}

static void write_label(struct writer *writer, const char *label)
{
	write(writer, "%-*s", LABEL, label);
}

static void write_place(struct writer *writer, uint32_t place_plus_1)
{
	const struct gmt_report *report = writer->report;

	if (!place_plus_1) {
		write(writer, "no stack was recorded");
		return;
	}
	gmt_screen_begin_path(&writer->screen);
	gmt_console_own_place(&writer->screen.line, report->recording, report->traces,
		place_plus_1 - 1);
	gmt_screen_end_path(&writer->screen);
}

/* Writes a frame of a stack, by its index. */
static void write_own_line(struct writer *writer, uint32_t stack, uint32_t own_line)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(writer->report->traces, stack, &count);

	write_place(writer, count ? places[own_line] + 1 : 0);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Returns whether all of a complete recording is reported. */
static bool is_whole(const struct writer *writer)
{
	return gmt_recording_complete(writer->report->recording) && !writer->report->has_until;
}

static void write_title(struct writer *writer)
{
	const struct gmt_recording *recording = writer->report->recording;
	const struct gmt_leaks_view *leaks = writer->report->leaks;
	char name[64];

	gmt_text_copy(name, sizeof(name), gmt_recorded_program(recording));
	gmt_console_text(&writer->screen.line, name);
	if (gmt_recording_is_imported(recording)) {
		write(writer, ", imported from ");
		gmt_console_text(&writer->screen.line, recording->imported_from);
	} else {
		write(writer, " on ");
		gmt_console_text(&writer->screen.line, recording->host);
	}
	if (recording->process.rank >= 0)
		write(writer, ", rank %d", recording->process.rank);
	if (leaks->timeline->series_count) {
		uint64_t steps = leaks->history->series[0].step_count;

		write(writer, ": %s step%s by %s", gmt_text_count(steps).text, plural(steps),
			gmt_step_source_name(leaks->timeline->series[0].source));
	}
	write(writer, ", %s, %s events", gmt_text_duration(gmt_recording_duration_ns(recording)).text,
		gmt_text_count(recording->seen_events).text);
	if (is_whole(writer))
		write(writer, ", complete");
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_BOLD);
}

static void write_peak(struct writer *writer)
{
	const struct gmt_overview *overview = writer->overview;
	const struct gmt_account *account = overview->account;

	write_label(writer, "peak");
	if (!account) {
		write(writer, "nothing was allocated");
		end_line(writer);
		return;
	}
	write(writer, "%s", gmt_text_size(account->peak_bytes).text);
	if (overview->device && overview->device->total_bytes)
		write(writer, " of %s", gmt_text_size(overview->device->total_bytes).text);
	write(writer, " on %s", gmt_device_in_sentence(account->device).text);
	write(writer, ", at %s", gmt_text_duration(overview->peak_time_ns).text);
	if (overview->has_step)
		write(writer, ", step %" PRIu32, overview->step);
	if (overview->has_part)
		write(writer, ", %s", gmt_part_name(overview->part));
	if (overview->phase) {
		write(writer, ", phase ");
		gmt_console_text(&writer->screen.line, overview->phase);
	}
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_BOLD);
}

/* Writes the peaks of the other devices, in the same layer. */
static void write_other_gpus(struct writer *writer)
{
	const struct gmt_accounting *accounting = &writer->report->replay->accounting;
	const struct gmt_account *first = writer->overview->account;
	size_t shown = 0, others = 0;

	for (size_t i = 0; first && i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		if (account == first || account->layer != first->layer || account->device < 0 ||
			!account->peak_bytes)
			continue;
		if (!others++)
			write_label(writer, "other GPUs");
		if (shown < GPUS_SHOWN)
			write(writer, "%sGPU %d %s", shown++ ? ", " : "", account->device,
				gmt_text_size(account->peak_bytes).text);
	}
	if (others > shown)
		write(writer, " and %zu more", others - shown);
	if (others)
		end_line(writer);
}

static void write_oom(struct writer *writer)
{
	const struct gmt_ooms *ooms = writer->report->ooms;
	uint64_t failures = ooms->failures;
	uint64_t retries = ooms->retries;
	const struct gmt_oom_row *last = NULL;

	for (size_t i = 0; i < ooms->rows.count; i++)
		if (!ooms->rows.items[i].recovered)
			last = &ooms->rows.items[i];
	write_label(writer, "out of memory");
	if (!failures) {
		write(writer, "no");
		if (retries)
			write(writer, ", but %s request%s needed the cache to be freed first",
				gmt_text_count(retries).text, plural(retries));
		end_line(writer);
		return;
	}
	write(writer, "%s request%s failed", gmt_text_count(failures).text, plural(failures));
	if (last) {
		write(writer, "%s %s at %s in ",
			failures == 1 ? ":" : "; the last:", gmt_text_size(last->requested_bytes).text,
			gmt_text_duration(last->time_ns).text);
		write_own_line(writer, last->stack,
			gmt_traces_own_line(writer->report->traces, last->stack));
	}
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
}

static void write_leak_verdict(struct writer *writer)
{
	const struct gmt_leaks *leaks = writer->report->leaks->leaks;
	const struct gmt_arena_row *unseen = gmt_arenas_unseen_on_gpus(&leaks->arenas);
	size_t count = leaks->rows.count;

	write_label(writer, "leaks");
	if (count)
		write(writer, "%s found", gmt_text_count(count).text);
	else if (leaks->why_growth_not_judged)
		write(writer, "growth was not judged: %s", leaks->why_growth_not_judged);
	else if (unseen) {
		write(writer, "none found outside of ");
		gmt_console_text(&writer->screen.line, unseen->name);
		write(writer, "'s arena, which is not judged");
	} else
		write(writer, "%s",
			leaks->is_compacted_away ? "none found in the part that could be judged"
									 : "none found");
	gmt_screen_end_wrapped(&writer->screen, count ? GMT_CONSOLE_WARN : GMT_CONSOLE_NORMAL, LABEL,
		3);
}

/* Returns the segments of the account's device at its peak, if they are fragmented; else NULL. */
static const struct gmt_segments *find_fragmented(const struct writer *writer)
{
	const struct gmt_account *account = writer->overview->account;
	const struct gmt_allocator_state *state =
		writer->report->allocator_state ? writer->report->allocator_state->allocator_state : NULL;

	for (size_t i = 0; state && account && i < state->segments.count; i++) {
		const struct gmt_segments *segments = &state->segments.items[i];

		if (segments->moment == GMT_SEGMENTS_AT_PEAK && segments->device == account->device)
			return segments->fragmented ? segments : NULL;
	}
	return NULL;
}

static void write_fragmentation(struct writer *writer)
{
	const struct gmt_segments *segments = find_fragmented(writer);

	if (!segments)
		return;
	write_label(writer, "fragmentation");
	write(writer, "PyTorch had %s reserved for %s at the peak",
		gmt_text_size(segments->reserved_bytes).text,
		gmt_text_size(segments->allocated_bytes).text);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
}

/*
 * Writes which part of the recording the numbers do not include. Omits notes that change no number.
 */
static void write_completeness(struct writer *writer)
{
	const struct gmt_recording *recording = writer->report->recording;
	const struct gmt_warnings *warnings = writer->report->warnings;
	bool is_complete = gmt_recording_complete(recording);
	size_t shown = 0;

	if (is_whole(writer))
		return;
	write_label(writer, "recording");
	write(writer, "%s",
		is_complete                    ? "complete"
			: recording->recording_pid ? "IN PROGRESS"
									   : "INCOMPLETE");
	if (writer->report->has_until)
		write(writer, "; here its first %s events, until %s",
			gmt_text_count(writer->report->replay->events).text,
			gmt_text_duration(writer->report->replay->end_time_ns).text);
	gmt_screen_end_line(&writer->screen, is_complete ? GMT_CONSOLE_NORMAL : GMT_CONSOLE_WARN);
	for (size_t i = 0; i < warnings->rows.count && shown < WARNINGS_SHOWN; i++) {
		/* If the report ends earlier, a remark may say that this moment is not known. */
		if (warnings->rows.items[i].kind != GMT_WARNING_INCOMPLETE && !writer->report->has_until)
			continue;
		shown++;
		write_label(writer, "");
		gmt_console_text(&writer->screen.line, warnings->rows.items[i].text);
		gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
	}
}

static void write_curve(struct writer *writer, unsigned rows)
{
	const struct gmt_overview *overview = writer->overview;
	uint64_t bars[MAX_BARS];
	size_t columns = writer->screen.columns - 12;
	char title[80];

	if (!writer->screen.is_utf8 || overview->curve_count < 8 || !rows)
		return;
	if (columns > MAX_BARS)
		columns = MAX_BARS;
	/* Bars of equal width: each value several times if there are few. */
	size_t repeat = columns / overview->curve_count;
	size_t count = gmt_curve_draw(overview->curve, overview->curve_count, bars, columns);
	if (repeat > 1) {
		count = overview->curve_count * repeat;
		for (size_t i = 0; i < count; i++)
			bars[i] = overview->curve[i / repeat];
	}
	if (overview->is_curve_by_step)
		snprintf(title, sizeof(title), "peak of each step, 0 to %zu",
			writer->report->leaks->history->series[0].step_count - 1);
	else
		snprintf(title, sizeof(title), "from the first allocation%s to %s",
			writer->report->recording->compacted.exists ? " after the compacted part" : "",
			writer->report->has_until ? "that moment" : "the last free");
	end_line(writer);
	gmt_screen_bars(&writer->screen, bars, count, rows, title);
}

static void write_categories(struct writer *writer)
{
	const struct gmt_account *account = writer->overview->account;
	const struct gmt_allocator_state_view *view = writer->report->allocator_state;
	size_t count, shown = 0;

	if (!view || !account)
		return;

	const struct gmt_table_row *row = gmt_table_rows_of(gmt_peak_table(view, GMT_TABLE_CATEGORY),
		account->layer, account->device, &count);
	end_line(writer);
	write(writer, "At the peak");
	for (; shown < count && row[shown].peak_bytes && count > 1; shown++) {
		char share[80];

		snprintf(share, sizeof(share), "%s %s %.0f %%", shown ? "," : ":",
			row[shown].name ? row[shown].name : gmt_table_key_none(GMT_TABLE_CATEGORY),
			100.0 * (double)row[shown].peak_bytes / (double)account->peak_bytes);
		if (gmt_screen_line_columns(&writer->screen) + strlen(share) > writer->screen.columns)
			break;
		write(writer, "%s", share);
	}
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_BOLD);
}

static void write_lines(struct writer *writer)
{
	const struct gmt_overview *overview = writer->overview;

	for (size_t i = 0; i < overview->line_count; i++) {
		const struct gmt_overview_line *line = &overview->lines[i];

		write(writer, "%10s %4.0f %% %8s x  ", gmt_text_size(line->bytes).text,
			100.0 * (double)line->bytes / (double)overview->account->peak_bytes,
			gmt_text_count(line->blocks).text);
		write_place(writer, line->place_plus_1);
		if (*line->operator) {
			write(writer, ": ");
			gmt_console_text(&writer->screen.line, line->operator);
		}
		end_line(writer);
	}
}

static void write_leak(struct writer *writer, const struct gmt_leak *leak)
{
	write(writer, "  leak  %s", gmt_leak_amount(leak).text);
	if (!(1u << leak->definition & GMT_LEAK_BY_STEPS))
		write(writer, " %s", gmt_leak_definition_name(leak->definition));
	write(writer, "  ");
	if (leak->stack == GMT_LEAK_NO_STACK)
		write(writer, "no single line");
	else
		write_own_line(writer, leak->stack, leak->own_line);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
}

static void write_leaks(struct writer *writer)
{
	const struct gmt_leaks *leaks = writer->report->leaks->leaks;

	if (!leaks->rows.count)
		return;
	end_line(writer);
	for (size_t i = 0; i < leaks->rows.count && i < LEAKS_SHOWN; i++)
		write_leak(writer, &leaks->rows.items[i]);
	if (leaks->rows.count == 1 && leaks->rows.items[0].hint) {
		write(writer, "        %s", leaks->rows.items[0].hint);
		gmt_screen_end_wrapped(&writer->screen, GMT_CONSOLE_NORMAL, 8, 2);
	} else if (leaks->rows.count > LEAKS_SHOWN) {
		write(writer, "        and %s more", gmt_text_count(leaks->rows.count - LEAKS_SHOWN).text);
		end_line(writer);
	}
}

/* Writes the memory in use on the device, at the peak or (if not known then) at the end. */
static void write_device_use(struct writer *writer)
{
	const struct gmt_account *account = writer->overview->account;
	const struct gmt_ledger_entry *entry;
	bool any = false;

	if (!account || account->device < 0)
		return;
	entry = gmt_ledger_find(writer->report->ledger, account->device, GMT_LEDGER_AT_PEAK, 0);
	bool is_peak = entry && entry->has_answer;
	if (!is_peak)
		entry = gmt_ledger_find(writer->report->ledger, account->device, GMT_LEDGER_AT_END, 0);
	if (!entry || !entry->has_answer)
		return;
	end_line(writer);
	write(writer, "GPU %d, in use %s%s", account->device, is_peak ? "" : "at the end ",
		gmt_text_size(entry->used_bytes).text);
	for (unsigned line = 0; line < GMT_LEDGER_LINES; line++)
		if (entry->lines[line] > 0) {
			write(writer, "%s %s %s", any ? "," : ":", gmt_ledger_line_text(line),
				gmt_text_size((uint64_t)entry->lines[line]).text);
			any = true;
		}
	gmt_screen_end_wrapped(&writer->screen, GMT_CONSOLE_NORMAL, 4, 2);
}

static void write_next(struct writer *writer, const char *before, const char *command,
	const char *meaning)
{
	write(writer, "%s gpumemtrace %s ", before, command);
	gmt_console_argument(&writer->screen.line, writer->report->recording->path);
	if (gmt_screen_line_columns(&writer->screen) + strlen(meaning) + 5 <= writer->screen.columns)
		write(writer, "   # %s", meaning);
	gmt_screen_end_uncut(&writer->screen);
}

static void write_nexts(struct writer *writer)
{
	bool has_leaks = writer->report->leaks->leaks->rows.count;

	end_line(writer);
	write_next(writer, "next:", "report --full", "all tables, with stacks");
	if (has_leaks)
		write_next(writer, "     ", "leaks", "each leak with its evidence");
	if (writer->report->has_page)
		write_next(writer, "     ", "report --html", "a page to look at");
	else if (!has_leaks)
		write_next(writer, "     ", "report --by module", "or owner, step ...");
}

/* Writes what comes below the curve. */
static void write_rest(struct writer *writer)
{
	write_categories(writer);
	write_lines(writer);
	write_leaks(writer);
	write_device_use(writer);
	write_nexts(writer);
}

/* Writes the curve, and the rest below it. The curve gets the lines that the rest leaves. */
static bool write_curve_and_rest(struct writer *writer)
{
	enum { BLANK_AND_TITLE = 2 };
	FILE *file = writer->screen.file;
	char *text = NULL;
	size_t bytes = 0;

	writer->screen.file = open_memstream(&text, &bytes);
	if (!writer->screen.file) {
		writer->screen.file = file;
		return false;
	}
	write_rest(writer);

	bool done = !ferror(writer->screen.file);
	done &= fclose(writer->screen.file) == 0;
	writer->screen.file = file;

	size_t needed = writer->screen.count + BLANK_AND_TITLE;
	size_t left = needed < GMT_OVERVIEW_SCREEN ? GMT_OVERVIEW_SCREEN - needed : 0;
	write_curve(writer, left < BAR_ROWS ? (unsigned)left : BAR_ROWS);
	if (done)
		fwrite(text, 1, bytes, file);
	free(text);
	return done;
}

bool gmt_overview_text(const struct gmt_report *report, FILE *file)
{
	struct writer writer = {
		.report = report,
		.overview = report->overview,
		.screen = {
			.file = file,
			.color = report->color,
			.is_utf8 = report->is_utf8,
			.columns = report->columns,
		},
	};

	if (!gmt_screen_init(&writer.screen))
		return false;
	write_title(&writer);
	write_peak(&writer);
	write_other_gpus(&writer);
	write_oom(&writer);
	write_leak_verdict(&writer);
	write_fragmentation(&writer);
	write_completeness(&writer);

	bool done = write_curve_and_rest(&writer);
	return gmt_screen_fini(&writer.screen) && done;
}
