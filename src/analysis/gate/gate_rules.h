/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_RULES_H
#define GMT_ANALYSIS_GATE_GATE_RULES_H

/* The rules of the gate, each in its file; private to it. */

#include "analysis/gate/gate.h"

struct gmt_judge {
	struct gmt_verdict *verdict;
	const struct gmt_gate *gate;
	const struct gmt_gate_input *input;
	uint32_t subject;
};

/* A check of this rule, of one account or (NULL) of the whole file. */
struct gmt_verdict_check gmt_judge_check(const struct gmt_judge *judge, enum gmt_rule rule,
	const struct gmt_account *account);

/* Whether a suppression of `kinds` matches; counts it. */
bool gmt_judge_suppresses(const struct gmt_judge *judge, unsigned kinds, uint32_t stack, uint64_t bytes);

/* A finding with its stack; NULL: out of memory. */
struct gmt_finding *gmt_judge_find(const struct gmt_judge *judge, uint32_t check, uint32_t stack,
	uint32_t own_line, enum gmt_suppression_kind kind);

/* One frame in a line, for evidence. */
const char *gmt_judge_place(const struct gmt_judge *judge, uint32_t stack, uint32_t own_line);

void gmt_judge_leaks(const struct gmt_judge *judge, const struct gmt_account *account);
void gmt_judge_growth(const struct gmt_judge *judge, const struct gmt_account *account);
/* Of the file: rules about steps that were asked for, and cannot be judged. */
void gmt_judge_steps(const struct gmt_judge *judge);

void gmt_judge_peak(const struct gmt_judge *judge, const struct gmt_account *account);
void gmt_judge_fragmentation(const struct gmt_judge *judge, const struct gmt_account *account);
void gmt_judge_ooms(const struct gmt_judge *judge);
void gmt_judge_frees(const struct gmt_judge *judge);
void gmt_judge_incomplete(const struct gmt_judge *judge);

/* All accounts of the file, against the baseline, and into the new one. */
void gmt_judge_regressions(const struct gmt_judge *judge);

#endif
