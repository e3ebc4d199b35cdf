/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "render/check.h"

/*
 * Writes a pattern on one line of a suppressions file. Characters that are not safe to print become
 * wildcards.
 */
static void put_pattern(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t left = gmt_budget_spend_text(strlen(text)), taken; left;
		at += taken, left -= taken) {
		size_t skip, length = gmt_safe_character_length(at, left, &skip);

		taken = length ? length : skip;
		if (length && !gmt_safe_makes_runner_command((const unsigned char *)text, at))
			fwrite(at, 1, length, file);
		else
			fputc('*', file);
	}
}

void gmt_check_suppressions(const struct gmt_check_report *report, FILE *file)
{
	const struct gmt_verdict *verdict = report->verdict;

	for (size_t i = 0; i < verdict->findings.count; i++) {
		const struct gmt_finding *finding = &verdict->findings.items[i];
		const struct gmt_verdict_check *check = &verdict->checks.items[finding->check];
		bool is_written = false;

		if (!*finding->kind || finding->own_frame >= finding->frames.count)
			continue;

		const struct gmt_verdict_frame *frame = &finding->frames.items[finding->own_frame];
		const char *pattern = *frame->function ? frame->function : frame->module;
		/* Write only one line for the same finding in several ranks. */
		for (size_t j = 0; j < i && !is_written; j++) {
			const struct gmt_finding *other = &verdict->findings.items[j];

			is_written =
				strcmp(other->key, finding->key) == 0 && strcmp(other->kind, finding->kind) == 0;
		}
		if (is_written || !*pattern)
			continue;
		fprintf(file, "# %s: ", gmt_rule_text(check->rule)->name);
		gmt_safe_print(file, finding->title);
		fprintf(file, "\n%s:^", finding->kind);
		put_pattern(file, pattern);
		fputs("$\n", file);
	}
}
