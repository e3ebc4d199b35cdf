/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_CHECK_H
#define GMT_RENDER_CHECK_H

/*
 * A verdict for people, and for what continuous integration reads: JSON (schema gpumemtrace.check/1),
 * JUnit XML, SARIF 2.1.0, GitHub's annotations and summaries, lines for a suppressions file (docs/ci.md).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/gate/limits.h"
#include "analysis/gate/suppressions.h"
#include "analysis/gate/verdict.h"
#include "render/json.h"

struct gmt_check_report {
	const struct gmt_verdict *verdict;
	const struct gmt_suppressions *suppressions;
	const char *baseline;       /* path; NULL: none */
	const char *const *roots;   /* by subject: the folder of the sources there; NULL: not known */
	int exit_code;
	bool color;
	uint64_t frames;            /* lines of stack in text */
};

void gmt_check_text(const struct gmt_check_report *report, FILE *file);
void gmt_check_json(const struct gmt_check_report *report, struct gmt_json *json);
void gmt_check_junit(const struct gmt_check_report *report, FILE *file);
void gmt_check_sarif(const struct gmt_check_report *report, struct gmt_json *json);

/* Lines `::error file=...::...` for the log of a GitHub workflow. */
void gmt_check_annotations(const struct gmt_check_report *report, FILE *file);

/* Markdown for $GITHUB_STEP_SUMMARY. */
void gmt_check_summary(const struct gmt_check_report *report, FILE *file);

/* Lines for a suppressions file that silence the leaks, growth, refusals and frees that were found. */
void gmt_check_suppressions(const struct gmt_check_report *report, FILE *file);

/* Where a finding is in the sources. */
struct gmt_check_place {
	const struct gmt_verdict_frame *frame; /* NULL: nowhere below the folder of the sources */
	char path[1024]; /* relative to it */
};

/* The user's own line if it lies below the folder of the sources, else the innermost frame that does. */
struct gmt_check_place gmt_check_place(const struct gmt_check_report *report,
	const struct gmt_finding *finding);

/* The same for one frame; false: not below it. */
bool gmt_check_path(const struct gmt_check_report *report, uint32_t subject,
	const struct gmt_verdict_frame *frame, char *ret_path, size_t size);

/* "GMT001 leak: torch on GPU 0, rank 3" */
struct gmt_check_name {
	char text[256];
};
struct gmt_check_name gmt_check_name(const struct gmt_verdict *verdict,
	const struct gmt_verdict_check *check);

/* What to do about a finding: its own hint, or the rule's advice. */
const char *gmt_check_advice(const struct gmt_verdict *verdict, const struct gmt_finding *finding);

#endif
