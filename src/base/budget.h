/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_BUDGET_H
#define GMT_BASE_BUDGET_H

/*
 * A limit on the work and the output that one recording may cause. Both follow the recording's inflated size.
 *
 * Most loops of the reader are as long as a part of the recording. They need no budget. A few loops are as long as the
 * product of two numbers of the recording: launches times nodes, stacks times frames. A small hostile file can make such
 * a product enormous. Those loops spend units here, and stop where none are left. One unit is about 100 ns of work, or
 * one byte of output.
 *
 * The limit is the process's, like that of memory (base/pages.h). Nothing is limited before gmt_budget_begin, so the
 * recorder, which uses some of the same code, never meets a limit. One thread at a time.
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
	uint64_t work;     /* units left */
	uint64_t output;   /* bytes left */
	uint32_t left_out; /* a bit of each part that did not fit */
};

/* What is left. Read it by the functions below. */
extern struct gmt_budget gmt_budget;

/* Sets how many times the usual work and output are allowed from the next gmt_budget_begin on; 0: no limit. Default: 1. */
void gmt_budget_set_factor(uint64_t factor);

/* Begins a recording: its budget is what each recording may use, whatever its size. What was left out stays noted. */
void gmt_budget_begin(void);

/* Adds the budget of so many inflated bytes. */
void gmt_budget_add(uint64_t bytes);

/* Notes that a part was left out. Returns false. */
bool gmt_budget_leave_out(enum gmt_budget_part part);

/* Spends units of work. False: they are not left, and `part` is noted as left out. */
static inline bool gmt_budget_spend(uint64_t units, enum gmt_budget_part part)
{
	if (units > gmt_budget.work)
		return gmt_budget_leave_out(part);
	gmt_budget.work -= units;
	return true;
}

/* Spends bytes of output. False: they are not left, and the end of the output is noted as left out. */
static inline bool gmt_budget_write(uint64_t bytes)
{
	if (bytes > gmt_budget.output)
		return gmt_budget_leave_out(GMT_BUDGET_OUTPUT);
	gmt_budget.output -= bytes;
	return true;
}

/* How many bytes of a text of `length` bytes to write: all, or where they are more than what is left, the first few. */
static inline uint64_t gmt_budget_text(uint64_t length)
{
	enum { CUT_BYTES = 256 };

	return gmt_budget_write(length) || length <= CUT_BYTES ? length : CUT_BYTES;
}

/* Whether output was left out. Loops that only write may stop then. */
static inline bool gmt_budget_is_written(void)
{
	return gmt_budget.left_out >> GMT_BUDGET_OUTPUT & 1;
}

/* Whether a part was left out that totals or verdicts depend on: all parts except the end of the output. */
static inline bool gmt_budget_has_cut(void)
{
	return gmt_budget.left_out & ~(UINT32_C(1) << GMT_BUDGET_OUTPUT);
}

/* "the end of the output"; for messages. */
const char *gmt_budget_part_text(enum gmt_budget_part part);

#endif
