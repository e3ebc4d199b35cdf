/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_CHECK_H
#define GMT_TOOLS_PIPELINE_CHECK_H

/* The CI gate of `check` and of `run --check`. */

#include <stdio.h>

#include "analysis/gate/baseline.h"
#include "analysis/gate/limits.h"
#include "analysis/gate/suppressions.h"
#include "analysis/job/process_summary.h"
#include "reader/stacks/owner_rules.h"
#include "tools/options/options.h"

struct gmt_check_options {
	struct gmt_option_texts limits[GMT_LIMITS]; /* as typed */
	const char *limits_file;
	const char *baseline;
	bool update_baseline;
	struct gmt_option_texts suppressions;
	bool no_default_suppressions, gen_suppressions;
	bool json, strict, no_symbol_cache, force;
	const char *junit, *sarif, *source_root, *output;
	struct gmt_option_texts symbol_paths, owners;
	uint64_t frames;
	int color;
};

/* The limits, suppressions, baseline and owner rules, read and validated. */
struct gmt_check_plan {
	struct gmt_check_options options;
	struct gmt_limits limits;
	struct gmt_suppressions suppressions;
	struct gmt_baseline baseline;
	struct gmt_owner_rules owner_rules;
	char *texts; /* a copy of the text given to gmt_check_parse */
};

extern const struct gmt_check_options gmt_check_defaults;

/*
 * Reads all files that the options name. Call it before any recording is read. Returns 0, or an
 * exit code after an error message. In both cases, end the plan with gmt_check_plan_fini.
 */
int gmt_check_plan_load(struct gmt_check_plan *ret_plan, const struct gmt_check_options *options);

/*
 * Same as gmt_check_plan_load, from the value of `run --check`: "", a limits file, or options,
 * which begin with '-'.
 */
int gmt_check_parse(struct gmt_check_plan *ret_plan, const char *demand);

/*
 * Returns whether all outputs of the plan may be written and are different from all inputs and from
 * each other. If not, prints an error. Call it before any recording is read. `paths` may be NULL:
 * they are not known yet.
 */
bool gmt_check_may_write(const struct gmt_check_plan *plan, char **paths, size_t count);

/*
 * Returns which files the outputs of the plan must not replace. The result refers to the plan and
 * to `paths`.
 */
struct gmt_output_rules gmt_check_output_rules(const struct gmt_check_plan *plan, char **paths,
	size_t count);

/* What is judged. */
struct gmt_check_input {
	char **paths; /* of the recordings, and after them of the summaries */
	size_t count; /* number of recordings */
	/* Summaries, judged after the recordings, and their store. NULL and 0: there are none. */
	struct gmt_job_store *store;
	const struct gmt_process_summary *summaries;
	size_t summary_count;
	/* Notes for the verdict: files that were left out. */
	const char *const *notes;
	size_t note_count;
	int unreadable; /* exit code if a file could not be read, else 0 */
};

/*
 * Judges the recordings and summaries, and writes all requested results. The verdict goes to
 * `file`. Returns the exit code:
 *
 *   0  all rules hold
 *   1  a rule fails
 *   3  a recording cannot be read, or a result cannot be written
 *   4  with --strict: a recording is incomplete, growth in it could not be judged, or an option
 *      asks for a rule that a summary cannot answer;
 *      always: work was left out because of the budget
 */
int gmt_check_files(struct gmt_check_plan *plan, const struct gmt_check_input *input, FILE *file);

void gmt_check_plan_fini(struct gmt_check_plan *plan);

#endif
