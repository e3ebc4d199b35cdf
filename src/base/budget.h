/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_BUDGET_H
#define GMT_BASE_BUDGET_H

/*
 * Limits the work and the output that one recording may cause. Both limits grow with the
 * recording's inflated size.
 *
 * The length of most loops in the reader is a part of the recording. They need no budget. The
 * length of a few loops is the product of two numbers in the recording: launches times nodes,
 * stacks times frames. A small hostile file can make such a product enormous. Those loops spend
 * units here, and stop when no units are left. One unit is about 100 ns of work, or one byte of
 * output.
 *
 * The limit applies to the whole process, like the memory limit (base/pages.h). Nothing is limited
 * before gmt_budget_begin. So the recorder, which shares some of this code, never meets a limit.
 * One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

enum gmt_budget_part {
#define GMT_BUDGET_PART(NAME, text) GMT_BUDGET_##NAME,
#include "base/budget_parts.def"
#undef GMT_BUDGET_PART
	GMT_BUDGET_PARTS
};

struct gmt_budget {
	uint64_t work_units;   /* units left */
	uint64_t output_bytes; /* bytes left */
	uint32_t left_out;     /* one bit for each part that was left out */
};

/* The current budget. Use the functions below. */
extern struct gmt_budget gmt_budget;

/*
 * Sets how many times the usual work and output are allowed, from the next gmt_budget_begin on. 0:
 * no limit. Default: 1.
 */
void gmt_budget_set_factor(uint64_t factor);

/*
 * Starts the budget of a recording with the fixed part that every recording gets, whatever its
 * size. The record of left-out parts stays.
 */
void gmt_budget_begin(void);

/* Adds the budget for this number of inflated bytes. */
void gmt_budget_add(uint64_t bytes);

/* Records that a part was left out. Returns false. */
bool gmt_budget_leave_out(enum gmt_budget_part part);

/* Spends units of work. If too few are left, records `part` as left out and returns false. */
static inline bool gmt_budget_spend_work(uint64_t units, enum gmt_budget_part part)
{
	if (units > gmt_budget.work_units)
		return gmt_budget_leave_out(part);
	gmt_budget.work_units -= units;
	return true;
}

/*
 * Spends bytes of output. If too few are left, records the end of the output as left out and
 * returns false.
 */
static inline bool gmt_budget_spend_output(uint64_t bytes)
{
	if (bytes > gmt_budget.output_bytes)
		return gmt_budget_leave_out(GMT_BUDGET_OUTPUT);
	gmt_budget.output_bytes -= bytes;
	return true;
}

/*
 * Returns how many bytes of a text to write: all, or only the first few if the output budget is
 * used up.
 */
static inline uint64_t gmt_budget_spend_text(uint64_t length)
{
	enum { CUT_BYTES = 256 };

	return gmt_budget_spend_output(length) || length <= CUT_BYTES ? length : CUT_BYTES;
}

/* Returns whether output was left out. Then loops that only write may stop. */
static inline bool gmt_budget_has_cut_output(void)
{
	return gmt_budget.left_out >> GMT_BUDGET_OUTPUT & 1;
}

/*
 * Returns whether a part was left out that totals or verdicts depend on: every part except the end
 * of the output.
 */
static inline bool gmt_budget_has_cut_results(void)
{
	return gmt_budget.left_out & ~(UINT32_C(1) << GMT_BUDGET_OUTPUT);
}

/* Returns the text of a part for messages, e.g. "the end of the output". */
const char *gmt_budget_part_text(enum gmt_budget_part part);

#endif
