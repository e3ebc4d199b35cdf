/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "render/check.h"
#include "render/console.h"
#include "render/lines/wrap_stream.h"

struct writer {
	const struct gmt_check_report *report;
	const struct gmt_verdict *verdict;
	struct gmt_console console;
	FILE *file;
};

static void write_styled(const struct writer *writer, enum gmt_console_style style,
	const char *text)
{
	gmt_console_style(&writer->console, style);
	gmt_console_text(&writer->console, text);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

static void write_line(const struct writer *writer, const char *before, const char *text)
{
	fputs(before, writer->file);
	gmt_console_text(&writer->console, text);
	fputc('\n', writer->file);
}

static void count_checks(const struct gmt_verdict *verdict, size_t *counts)
{
	for (size_t i = 0; i < verdict->checks.count; i++)
		counts[verdict->checks.items[i].state]++;
}

static void write_verdict(const struct writer *writer)
{
	const struct gmt_verdict *verdict = writer->verdict;
	size_t counts[4] = { 0 }, failed_files = 0, files = verdict->subjects.count;
	char text[200];

	count_checks(verdict, counts);
	for (size_t i = 0; i < files; i++)
		failed_files += verdict->subjects.items[i].failed;
	if (verdict->failed)
		snprintf(text, sizeof(text), "FAILED: %zu of %zu checks failed, in %zu of %zu file%s",
			counts[GMT_CHECK_FAILED],
			counts[GMT_CHECK_FAILED] + counts[GMT_CHECK_PASSED] + counts[GMT_CHECK_WARNED],
			failed_files, files, files == 1 ? "" : "s");
	else if (verdict->growth_not_judged)
		snprintf(text, sizeof(text),
			"NOT JUDGED: growth, in %zu of %zu file%s; all %zu other checks passed%s",
			verdict->growth_not_judged, files, files == 1 ? "" : "s", counts[GMT_CHECK_PASSED],
			verdict->incomplete ? "; the recording is incomplete" : "");
	else
		snprintf(text, sizeof(text), "%s: all %zu checks passed, in %zu file%s%s",
			writer->report->exit_code ? "INCOMPLETE" : "PASSED", counts[GMT_CHECK_PASSED], files,
			files == 1 ? "" : "s", verdict->incomplete ? "; the recording is incomplete" : "");
	write_styled(writer, GMT_CONSOLE_BOLD, text);
	fputc('\n', writer->file);
	if (files < 2 || !verdict->failed)
		return;
	fputs("  failed in ", writer->file);
	for (size_t i = 0, shown = 0; i < files; i++)
		if (verdict->subjects.items[i].failed) {
			fputs(shown++ ? ", " : "", writer->file);
			gmt_console_text(&writer->console,
				gmt_verdict_file_name(&verdict->subjects.items[i]).text);
		}
	fputc('\n', writer->file);
}

/* Writes the stack leaf first, as in reports, and marks the user's own line. */
static void write_stack(const struct writer *writer, const struct gmt_finding *finding)
{
	size_t shown = 0;

	if (finding->summary.count < 2)
		return;
	gmt_console_style(&writer->console, GMT_CONSOLE_DIM);
	for (; shown < finding->summary.count && shown < writer->report->frames; shown++) {
		uint32_t frame = finding->summary.items[shown];

		write_line(writer, frame == finding->own_frame ? "      > " : "        ",
			finding->frames.items[frame].name);
	}
	if (shown < finding->summary.count && shown)
		fprintf(writer->file, "        ... %zu more lines\n", finding->summary.count - shown);
	gmt_console_style(&writer->console, GMT_CONSOLE_NORMAL);
}

static void write_finding(const struct writer *writer, const struct gmt_finding *finding)
{
	if (finding->own_frame < finding->frames.count) {
		fputs("    ", writer->file);
		write_styled(writer, GMT_CONSOLE_BOLD, finding->frames.items[finding->own_frame].name);
		fputc('\n', writer->file);
	}
	if (strcmp(finding->title, writer->verdict->checks.items[finding->check].text) != 0)
		write_line(writer, "      ", finding->title);
	for (size_t i = 0; i < finding->evidence.count; i++)
		write_line(writer, "      ", finding->evidence.items[i]);
	write_stack(writer, finding);
	if (finding->hint)
		write_line(writer, "      hint: ", finding->hint);
}

static void write_check(const struct writer *writer, size_t number)
{
	enum { SHOWN = 10 };
	const struct gmt_verdict *verdict = writer->verdict;
	const struct gmt_verdict_check *check = &verdict->checks.items[number];
	bool is_warning = check->state == GMT_CHECK_WARNED;
	size_t count = 0;

	fputc('\n', writer->file);
	write_styled(writer, is_warning ? GMT_CONSOLE_WARN : GMT_CONSOLE_BOLD,
		gmt_check_name(verdict, check).text);
	write_line(writer, "\n  ", check->text);
	for (size_t i = 0; i < verdict->findings.count; i++)
		if (verdict->findings.items[i].check == number && count++ < SHOWN)
			write_finding(writer, &verdict->findings.items[i]);
	if (count > SHOWN)
		fprintf(writer->file, "    and %zu more (see --json)\n", count - SHOWN);
	write_line(writer, "  do: ", gmt_rule_text(check->rule)->advice);
}

static void write_blocks(const struct writer *writer, enum gmt_check_state state)
{
	for (size_t i = 0; i < writer->verdict->checks.count; i++)
		if (writer->verdict->checks.items[i].state == state)
			write_check(writer, i);
}

static const char *word_of(enum gmt_check_state state)
{
	return state == GMT_CHECK_PASSED ? "passed" : "skipped";
}

static void write_other(const struct writer *writer, const struct gmt_verdict_check *check)
{
	const struct gmt_rule_text *rule = gmt_rule_text(check->rule);
	struct gmt_verdict_memory_name memory_name = gmt_verdict_memory_name(check);

	fprintf(writer->file, "%-8s%s %s: %s%s", word_of(check->state), rule->id, rule->name,
		memory_name.text, *memory_name.text ? ": " : "");
	write_line(writer, "", check->text);
}

/* For several files, writes only the number of checks. */
static void write_others_of(const struct writer *writer, enum gmt_rule rule,
	enum gmt_check_state state)
{
	const struct gmt_verdict *verdict = writer->verdict;
	const struct gmt_verdict_check *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < verdict->checks.count; i++) {
		const struct gmt_verdict_check *check = &verdict->checks.items[i];

		if (check->rule != rule || check->state != state)
			continue;
		first = first ? first : check;
		count++;
	}
	if (!count)
		return;
	fprintf(writer->file, "%-8s%s %s: %zu check%s", word_of(state), gmt_rule_text(rule)->id,
		gmt_rule_text(rule)->name, count, count == 1 ? "" : "s");
	if (state == GMT_CHECK_SKIPPED)
		write_line(writer, "; the first: ", first->text);
	else
		fputc('\n', writer->file);
}

/*
 * Summarizes the checks that hold, and lists the checks that were not judged with their reasons, so
 * that they are not taken as passed.
 */
static void write_others(const struct writer *writer)
{
	static const enum gmt_check_state states[] = { GMT_CHECK_PASSED, GMT_CHECK_SKIPPED };
	const struct gmt_verdict *verdict = writer->verdict;

	fputc('\n', writer->file);
	for (size_t s = 0; s < 2; s++)
		for (unsigned rule = 0; rule < GMT_RULES; rule++) {
			if (verdict->subjects.count > 1)
				write_others_of(writer, (enum gmt_rule)rule, states[s]);
			for (size_t i = 0; verdict->subjects.count < 2 && i < verdict->checks.count; i++)
				if (verdict->checks.items[i].rule == rule &&
					verdict->checks.items[i].state == states[s])
					write_other(writer, &verdict->checks.items[i]);
		}
}

static void write_suppressed(const struct writer *writer)
{
	const struct gmt_verdict *verdict = writer->verdict;
	const struct gmt_suppressions *suppressions = writer->report->suppressions;

	if (verdict->suppressed_findings || verdict->suppressed_bytes)
		fprintf(writer->file, "\nsuppressed: %s finding%s, %s\n",
			gmt_text_count(verdict->suppressed_findings).text,
			verdict->suppressed_findings == 1 ? "" : "s",
			gmt_text_size(verdict->suppressed_bytes).text);
	for (size_t i = 0; i < suppressions->rows.count; i++) {
		const struct gmt_suppression *row = &suppressions->rows.items[i];

		if (row->used) {
			fprintf(writer->file, "  %10s  %s:", gmt_text_size(row->bytes).text,
				gmt_suppression_kind_name(row->kind));
			gmt_console_text(&writer->console, row->pattern);
			fputs(row->path ? "\n" : " (built in)\n", writer->file);
		}
	}
	for (size_t i = 0; i < suppressions->rows.count; i++) {
		const struct gmt_suppression *row = &suppressions->rows.items[i];

		if (row->used || !row->path)
			continue;
		fputs("note: unused suppression ", writer->file);
		gmt_console_text(&writer->console, row->path);
		fprintf(writer->file, ":%u: %s:", row->line, gmt_suppression_kind_name(row->kind));
		write_line(writer, "", row->pattern);
	}
}

void gmt_check_text(const struct gmt_check_report *report, FILE *file)
{
	FILE *wrapped = gmt_wrap_stream_open(file);
	struct writer writer = { report, report->verdict, { wrapped, report->color }, wrapped };

	write_verdict(&writer);
	write_blocks(&writer, GMT_CHECK_FAILED);
	write_blocks(&writer, GMT_CHECK_WARNED);
	write_others(&writer);
	write_suppressed(&writer);
	for (size_t i = 0; i < report->verdict->notes.count; i++)
		write_line(&writer, "note: ", report->verdict->notes.items[i]);
	gmt_wrap_stream_close(wrapped, file);
}
