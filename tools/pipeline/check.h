/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_CHECK_H
#define GMT_TOOLS_PIPELINE_CHECK_H

/* `check` and `run --check`: options, the recordings to judge, and all outputs of the verdict. */

#include <stdio.h>

#include "analysis/gate/baseline.h"
#include "analysis/gate/limits.h"
#include "analysis/gate/suppressions.h"
#include "analysis/job/process_summary.h"
#include "reader/stacks/owner_rules.h"
#include "tools/options/options.h"

struct gmt_check_options {
	struct gmt_option_texts limits[GMT_LIMITS]; /* as the user typed them */
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
	char *texts; /* a copy of the text that was passed to gmt_check_plan_parse */
};

extern const struct gmt_check_options gmt_check_defaults;

/*
 * Reads all files that the options name. Call it before any recording is read. Returns 0, or an
 * exit code after an error message. The caller ends the plan with gmt_check_plan_fini in both
 * cases.
 */
int gmt_check_plan_load(struct gmt_check_plan *ret_plan, const struct gmt_check_options *options);

/*
 * Same as gmt_check_plan_load, from the value of `run --check`: "", the name of a limits file, or
 * options, which begin with '-'.
 */
int gmt_check_plan_parse(struct gmt_check_plan *ret_plan, const char *value);

/*
 * Returns whether all outputs of the plan may be written, and differ from all inputs and from each
 * other. If not, prints an error. Call it before any recording is read. `paths` are the recordings;
 * NULL if they are not known yet.
 */
bool gmt_check_may_write(const struct gmt_check_plan *plan, char **paths, size_t count);

/*
 * Returns the files that the outputs of the plan must not replace. The result borrows from the plan
 * and from `paths`.
 */
struct gmt_output_rules gmt_check_output_rules(const struct gmt_check_plan *plan, char **paths,
	size_t count);

/* The recordings and summaries to judge. */
struct gmt_check_input {
	char **paths; /* of the recordings, and after them of the summaries */
	size_t count; /* number of recordings */
	/* Summaries, judged after the recordings, and their store. NULL and 0: no summaries. */
	struct gmt_job_store *store;
	const struct gmt_process_summary *summaries;
	size_t summary_count;
	/* Notes for the verdict about files that were left out. */
	const char *const *notes;
	size_t note_count;
	int unreadable; /* exit code if a file could not be read, else 0 */
};

/*
 * Judges the recordings and summaries, writes the verdict to `file`, and writes all other requested
 * outputs. Returns the exit code:
 *
 *   0  all rules hold
 *   1  a rule fails
 *   3  a recording cannot be read, or a result cannot be written
 *   4  with --strict: a recording is incomplete, its growth could not be judged, or an option asks
 *      for a rule that cannot be judged from a summary;
 *      also without --strict: a part of the analysis exceeded the work limit
 */
int gmt_check_files(struct gmt_check_plan *plan, const struct gmt_check_input *input, FILE *file);

void gmt_check_plan_fini(struct gmt_check_plan *plan);

#endif
