/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_CHECK_H
#define GMT_RENDER_CHECK_H

/*
 * A verdict as text, and in the formats of continuous integration: JSON (schema
 * gpumemtrace.check/1), JUnit XML, SARIF 2.1.0, GitHub's annotations and summaries, and lines for a
 * suppressions file (docs/ci.md).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/gate/suppressions.h"
#include "analysis/gate/verdict.h"
#include "render/json.h"

struct gmt_check_report {
	const struct gmt_verdict *verdict;
	const struct gmt_suppressions *suppressions;
	const char *baseline;       /* path; NULL: no baseline */
	const char *const *roots;   /* by subject: its source folder; NULL: not known */
	int exit_code;
	bool color;
	uint64_t frames;            /* lines of stack in text */
};

void gmt_check_text(const struct gmt_check_report *report, FILE *file);
void gmt_check_json(const struct gmt_check_report *report, struct gmt_json *json);
void gmt_check_junit(const struct gmt_check_report *report, FILE *file);
void gmt_check_sarif(const struct gmt_check_report *report, struct gmt_json *json);

/* Writes lines `::error file=...::...` for the log of a GitHub workflow. */
void gmt_check_annotations(const struct gmt_check_report *report, FILE *file);

/* Writes Markdown for $GITHUB_STEP_SUMMARY. */
void gmt_check_summary(const struct gmt_check_report *report, FILE *file);

/*
 * Writes lines for a suppressions file that suppress the found leaks, growth, refusals and frees.
 */
void gmt_check_suppressions(const struct gmt_check_report *report, FILE *file);

/* The source location of a finding. */
struct gmt_check_place {
	const struct gmt_verdict_frame *frame; /* NULL: no frame lies below the source folder */
	char path[1024]; /* relative to the source folder */
};

/*
 * Returns the user's own line if it lies below the source folder, else the innermost frame below
 * it.
 */
struct gmt_check_place gmt_check_place(const struct gmt_check_report *report,
	const struct gmt_finding *finding);

/*
 * Writes the path of one frame, relative to the source folder. Returns false if the frame does not
 * lie below it.
 */
bool gmt_check_path(const struct gmt_check_report *report, uint32_t subject,
	const struct gmt_verdict_frame *frame, char *ret_path, size_t size);

/* "GMT001 leak: torch on GPU 0, rank 3" */
struct gmt_check_name {
	char text[256];
};
struct gmt_check_name gmt_check_name(const struct gmt_verdict *verdict,
	const struct gmt_verdict_check *check);

/* Returns the advice for a finding: its own hint, or the advice of the rule. */
const char *gmt_check_advice(const struct gmt_verdict *verdict, const struct gmt_finding *finding);

#endif
