/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_SUMMARY_JUDGE_H
#define GMT_ANALYSIS_GATE_GATE_SUMMARY_JUDGE_H

/*
 * The rules of the gate for a summary, and what they share. Like gate_judge.h, which is for
 * recordings. Private to the gate. The functions note a lack of memory in the verdict.
 */

#include "analysis/gate/gate.h"

struct gmt_summary_judge {
	struct gmt_verdict *verdict;
	const struct gmt_gate *gate;
	const struct gmt_job_store *store;
	const struct gmt_process_summary *summary;
	uint32_t subject;
};

/* Returns a text of the store as a line that the verdict owns. */
const char *gmt_summary_judge_text(const struct gmt_summary_judge *judge, uint32_t text);

/* Returns a line of the program as text, for example "train.py:31 in step". */
const char *gmt_summary_judge_line(const struct gmt_summary_judge *judge, uint32_t place);

/* Returns an empty check of this rule for one account, or for the whole file (NULL). */
struct gmt_verdict_check gmt_summary_judge_check(const struct gmt_summary_judge *judge,
	enum gmt_rule rule, const struct gmt_summarized_account *account);

/* Adds a skipped check with its reason. */
void gmt_summary_judge_skip(const struct gmt_summary_judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why);

/* Same as above, for a rule that an option asks for. With --strict, the verdict is not complete. */
void gmt_summary_judge_skip_wanted(const struct gmt_summary_judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why);

/* Returns whether a suppression of `kinds` matches the line, and counts its use. */
bool gmt_summary_judge_suppresses(const struct gmt_summary_judge *judge, unsigned kinds,
	uint32_t place, uint64_t bytes);

/* Adds a finding about a line. Returns NULL when out of memory. */
struct gmt_finding *gmt_summary_judge_add_finding(const struct gmt_summary_judge *judge,
	uint32_t check, uint32_t place, enum gmt_suppression_kind kind);

/*
 * Returns the reason why leaks and growth are not judged: an option changes what a leak is, but the
 * summary's findings were made without it. NULL: no such option is set.
 */
const char *gmt_summary_judge_option_for_events(const struct gmt_summary_judge *judge);

/* Returns why the summary has no verdict on growth. NULL: it has one. */
const char *gmt_summary_judge_why_no_growth(const struct gmt_summary_judge *judge);

/* Judge one account by the rules LEAK and GROWTH. */
void gmt_summary_judge_leaks(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account);
void gmt_summary_judge_growth(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account);

#endif
