/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "render/check.h"

/*
 * GitHub shows ten errors and ten warnings of a step. More annotations would hide the first ones.
 */
enum { MAX_ANNOTATIONS = 10, MAX_ROWS = 200 };

/*
 * Writes text of a workflow command. A command ends at the end of the line, and a property ends at
 * a comma or colon. These characters, and the percent sign, are written as %XX.
 */
static void put_escaped(FILE *file, const char *text, bool is_property)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t left = gmt_budget_spend_text(strlen(text)), taken; left;
		at += taken, left -= taken) {
		size_t skip, length = gmt_safe_character_length(at, left, &skip);

		taken = length ? length : skip;
		if (*at == '%' || *at == '\r' || *at == '\n' || (is_property && (*at == ':' || *at == ',')))
			fprintf(file, "%%%02X", *at);
		else if (length && !gmt_safe_makes_runner_command((const unsigned char *)text, at))
			fwrite(at, 1, length, file);
		else
			fputc('?', file);
	}
}

static void annotate(const struct gmt_check_report *report, const struct gmt_verdict_check *check,
	const struct gmt_finding *finding, FILE *file)
{
	struct gmt_check_name title = gmt_check_name(report->verdict, check);
	struct gmt_check_place place = { 0 };

	if (finding)
		place = gmt_check_place(report, finding);
	fputs(check->state == GMT_CHECK_FAILED ? "::error " : "::warning ", file);
	if (place.frame) {
		fputs("file=", file);
		put_escaped(file, place.path, true);
		fprintf(file, ",line=%u,", place.frame->line);
	}
	fputs("title=", file);
	put_escaped(file, title.text, true);
	fputs("::", file);
	put_escaped(file, finding ? finding->title : check->text, false);
	for (size_t i = 0; finding && i < finding->evidence.count; i++) {
		fputs("%0A", file);
		put_escaped(file, finding->evidence.items[i], false);
	}
	if (finding) {
		fputs("%0A", file);
		put_escaped(file, gmt_check_advice(report->verdict, finding), false);
	}
	fputc('\n', file);
}

void gmt_check_annotations(const struct gmt_check_report *report, FILE *file)
{
	const struct gmt_verdict *verdict = report->verdict;
	unsigned shown = 0;

	for (size_t i = 0; i < verdict->findings.count && shown < MAX_ANNOTATIONS; i++, shown++)
		annotate(report, &verdict->checks.items[verdict->findings.items[i].check],
			&verdict->findings.items[i], file);
	/* Checks that failed and have no findings to point at. */
	for (size_t i = 0; i < verdict->checks.count && shown < MAX_ANNOTATIONS; i++) {
		bool has_finding = verdict->checks.items[i].state != GMT_CHECK_FAILED;

		for (size_t j = 0; j < verdict->findings.count && !has_finding; j++)
			has_finding = verdict->findings.items[j].check == i;
		if (!has_finding) {
			annotate(report, &verdict->checks.items[i], NULL, file);
			shown++;
		}
	}
}

static bool is_behind(const char *text, const unsigned char *at, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(at - (const unsigned char *)text) >= length &&
		strncasecmp((const char *)at - length, word, length) == 0;
}

/* Writes text in a table cell, so that it contains no link, no end of the cell and no HTML. */
static void put_cell(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t left = gmt_budget_spend_text(strlen(text)), taken; left;
		at += taken, left -= taken) {
		size_t skip, length = gmt_safe_character_length(at, left, &skip);

		taken = length ? length : skip;
		/* Also escape text that GitHub turns into links: people, issues, addresses. */
		if (strchr("\\`*_{}[]<>()#+!|~&@$", *at) || strncmp((const char *)at, "://", 3) == 0 ||
			(*at == '.' && is_behind(text, at, "www")))
			fputc('\\', file);
		if (length)
			fwrite(at, 1, length, file);
		else
			fputc(*at == '\n' || *at == '\t' ? ' ' : '?', file);
	}
}

static void write_row(const struct gmt_check_report *report, size_t number, FILE *file)
{
	static const char *const words[] = { "holds", "skipped", "warning", "**fails**" };
	const struct gmt_verdict *verdict = report->verdict;
	const struct gmt_verdict_check *check = &verdict->checks.items[number];
	const struct gmt_finding *first = NULL;

	for (size_t i = 0; i < verdict->findings.count && !first; i++)
		if (verdict->findings.items[i].check == number && verdict->findings.items[i].frames.count)
			first = &verdict->findings.items[i];
	fprintf(file, "| %s | ", words[check->state]);
	put_cell(file, gmt_check_name(verdict, check).text);
	fputs(" | ", file);
	put_cell(file, check->text);
	fputs(" | ", file);
	if (first)
		put_cell(file, first->frames.items[first->own_frame].name);
	fputs(" |\n", file);
}

void gmt_check_summary(const struct gmt_check_report *report, FILE *file)
{
	const struct gmt_verdict *verdict = report->verdict;
	size_t rows = 0;

	fprintf(file, "### GPU memory: %s\n\n| | rule | measured | line |\n|---|---|---|---|\n",
		verdict->failed                  ? "failed"
			: verdict->growth_not_judged ? "growth was not judged"
			: verdict->incomplete        ? "passed, but the recording is incomplete"
										 : "passed");
	for (int state = GMT_CHECK_FAILED; state >= 0; state--)
		for (size_t i = 0; i < verdict->checks.count; i++)
			if ((int)verdict->checks.items[i].state == state && rows++ < MAX_ROWS)
				write_row(report, i, file);
	if (rows > MAX_ROWS)
		fprintf(file, "\nand %zu more\n", rows - MAX_ROWS);
	fputc('\n', file);
}
