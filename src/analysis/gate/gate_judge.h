/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_GATE_JUDGE_H
#define GMT_ANALYSIS_GATE_GATE_JUDGE_H

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
struct gmt_finding *gmt_judge_add_finding(const struct gmt_judge *judge, uint32_t check,
	uint32_t stack, uint32_t own_line, enum gmt_suppression_kind kind);

/* Returns the kinds of suppressions (bits) that hide a leak of this definition. */
unsigned gmt_judge_suppression_kinds(enum gmt_leak_definition definition);

/* Returns the smallest limit for the peak of a layer on a device. NULL: there is no limit. */
const struct gmt_limit_peak *gmt_judge_peak_limit(const struct gmt_limits *limits, uint32_t layer,
	int32_t device);

/* Fills in the result of a check of a peak, of which `suppressed_bytes` do not count. */
void gmt_judge_compare_peak(struct gmt_verdict *verdict, struct gmt_verdict_check *check,
	const struct gmt_limit_peak *limit, uint64_t peak_bytes, uint64_t suppressed_bytes);

/* Returns one frame as a line of text for evidence. */
const char *gmt_judge_frame_name(const struct gmt_judge *judge, uint32_t stack, uint32_t own_line);

/*
 * The functions of rules.def. Each judges one account or the whole file by one rule, and adds the
 * result to the verdict.
 */
#define GMT_JUDGES_ACCOUNT(judges) \
	void judges(const struct gmt_judge *judge, const struct gmt_account *account);
#define GMT_JUDGES_FILE(judges) void judges(const struct gmt_judge *judge);
#define GMT_RULE(NAME, id, name, meaning, advice, fails_if, judged, judges) judges
#include "analysis/gate/rules.def"
#undef GMT_RULE
#undef GMT_JUDGES_ACCOUNT
#undef GMT_JUDGES_FILE

#endif
