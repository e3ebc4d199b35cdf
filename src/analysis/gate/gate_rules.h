/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_RULES_H
#define GMT_ANALYSIS_GATE_GATE_RULES_H

/* The rules of the gate; each group of rules has its own file. Private to the gate. */

#include "analysis/gate/gate.h"

struct gmt_judge {
	struct gmt_verdict *verdict;
	const struct gmt_gate *gate;
	const struct gmt_gate_input *input;
	uint32_t subject;
};

/* Returns an empty check of this rule for one account, or for the whole file (NULL). */
struct gmt_verdict_check gmt_judge_check(const struct gmt_judge *judge, enum gmt_rule rule,
	const struct gmt_account *account);

/* Returns whether a suppression of `kinds` matches the stack, and counts its use. */
bool gmt_judge_suppresses(const struct gmt_judge *judge, unsigned kinds, uint32_t stack,
	uint64_t bytes);

/* Adds a finding with its stack. NULL: out of memory. */
struct gmt_finding *gmt_judge_find(const struct gmt_judge *judge, uint32_t check, uint32_t stack,
	uint32_t own_line, enum gmt_suppression_kind kind);

/* Returns one frame as a line of text for evidence. */
const char *gmt_judge_place(const struct gmt_judge *judge, uint32_t stack, uint32_t own_line);

/* Judge one account by one rule, and add the result to the verdict. */
void gmt_judge_leaks(const struct gmt_judge *judge, const struct gmt_account *account);
void gmt_judge_growth(const struct gmt_judge *judge, const struct gmt_account *account);

/*
 * Fails rules about steps that the user asked for and that cannot be judged in this file. Warns if
 * growth was not asked for and cannot be judged.
 */
void gmt_judge_steps(const struct gmt_judge *judge);

/* Judge one account by one rule, as above. */
void gmt_judge_peak(const struct gmt_judge *judge, const struct gmt_account *account);
void gmt_judge_fragmentation(const struct gmt_judge *judge, const struct gmt_account *account);

/* Judge the whole file by one rule. */
void gmt_judge_ooms(const struct gmt_judge *judge);
void gmt_judge_frees(const struct gmt_judge *judge);
void gmt_judge_incomplete(const struct gmt_judge *judge);

/* Compares all accounts of the file with the baseline, and adds them to the new baseline. */
void gmt_judge_regressions(const struct gmt_judge *judge);

#endif
