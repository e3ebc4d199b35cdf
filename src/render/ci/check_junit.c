/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "render/check.h"

/*
 * JUnit XML with the elements and attributes that Jenkins' xUnit plugin (junit-10.xsd), GitLab and
 * Azure all read. A suite is a file. A test case is a rule for a layer on a device in that file.
 */

/*
 * Writes text or the value of an attribute. Characters that XML 1.0 cannot hold become U+FFFD.
 * Characters that could control a terminal or the log of a job are written as character references.
 */
static void put(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = gmt_budget_spend_text(strlen(text));

	while (left) {
		size_t skip, length = gmt_text_utf8_length(at, left);
		bool is_control = *at < 0x20 && *at != '\n' && *at != '\t';
		/* U+FFFE and U+FFFF. */
		bool is_none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
		const char *name = *at == '&' ? "&amp;"
			: *at == '<'              ? "&lt;"
			: *at == '>'              ? "&gt;"
			: *at == '"'              ? "&quot;"
									  : NULL;

		if (name)
			fputs(name, file);
		else if (!length || is_control || is_none)
			fputs("\xef\xbf\xbd", file);
		else if (!gmt_safe_character_length(at, left, &skip) ||
			gmt_safe_makes_runner_command((const unsigned char *)text, at))
			fprintf(file, "&#x%x;", gmt_text_utf8_code_point(at, length));
		else
			fwrite(at, 1, length, file);
		length += !length;
		at += length;
		left -= length;
	}
}

static void attribute(FILE *file, const char *name, const char *value)
{
	fprintf(file, " %s=\"", name);
	put(file, value);
	fputc('"', file);
}

static void write_findings(const struct gmt_check_report *report, size_t check, FILE *file)
{
	const struct gmt_verdict *verdict = report->verdict;

	for (size_t i = 0; i < verdict->findings.count; i++) {
		const struct gmt_finding *finding = &verdict->findings.items[i];

		if (finding->check != check)
			continue;
		put(file, finding->title);
		fputc('\n', file);
		for (size_t j = 0; j < finding->evidence.count; j++) {
			fputs("  ", file);
			put(file, finding->evidence.items[j]);
			fputc('\n', file);
		}
		for (size_t j = 0; j < finding->frames.count; j++) {
			fputs(j == finding->own_frame ? "  > " : "    ", file);
			put(file, finding->frames.items[j].name);
			fputc('\n', file);
		}
		fputs("  do: ", file);
		put(file, gmt_check_advice(verdict, finding));
		fputc('\n', file);
	}
}

static void write_case(const struct gmt_check_report *report, size_t number, FILE *file)
{
	const struct gmt_verdict_check *check = &report->verdict->checks.items[number];

	fputs("    <testcase classname=\"gpumemtrace.check\"", file);
	attribute(file, "name", gmt_check_name(report->verdict, check).text);
	switch (check->state) {
	case GMT_CHECK_PASSED:
		fputs("/>\n", file);
		return;
	case GMT_CHECK_SKIPPED:
		fputs(">\n      <skipped", file);
		attribute(file, "message", check->text);
		fputs("/>\n    </testcase>\n", file);
		return;
	case GMT_CHECK_WARNED:
		fputs(">\n      <system-out>", file);
		write_findings(report, number, file);
		fputs("</system-out>\n    </testcase>\n", file);
		return;
	case GMT_CHECK_FAILED:
		fputs(">\n      <failure", file);
		attribute(file, "type", gmt_rule_text(check->rule)->id);
		attribute(file, "message", check->text);
		fputs(">", file);
		write_findings(report, number, file);
		fputs("</failure>\n    </testcase>\n", file);
		return;
	}
}

static size_t count(const struct gmt_verdict *verdict, size_t subject, int state)
{
	size_t sum = 0;

	for (size_t i = 0; i < verdict->checks.count; i++)
		sum += (subject == SIZE_MAX || verdict->checks.items[i].subject == subject) &&
			(state < 0 || (int)verdict->checks.items[i].state == state);
	return sum;
}

void gmt_check_junit(const struct gmt_check_report *report, FILE *file)
{
	const struct gmt_verdict *verdict = report->verdict;

	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"gpumemtrace\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
		count(verdict, SIZE_MAX, -1), count(verdict, SIZE_MAX, GMT_CHECK_FAILED));
	for (size_t i = 0; i < verdict->subjects.count; i++) {
		fputs("  <testsuite", file);
		attribute(file, "name", verdict->subjects.items[i].path);
		fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\"",
			count(verdict, i, -1), count(verdict, i, GMT_CHECK_FAILED),
			count(verdict, i, GMT_CHECK_SKIPPED));
		if (*verdict->subjects.items[i].host)
			attribute(file, "hostname", verdict->subjects.items[i].host);
		fputs(">\n", file);
		for (size_t j = 0; j < verdict->checks.count; j++)
			if (verdict->checks.items[j].subject == i)
				write_case(report, j, file);
		fputs("  </testsuite>\n", file);
	}
	fputs("</testsuites>\n", file);
}
