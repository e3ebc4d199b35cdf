/* SPDX-License-Identifier: MIT */
#include "base/budget.h"

/*
 * Measured: a block that a launch allocates and frees takes 100 to 200 ns. So the work for a small
 * recording ends after one or two seconds.
 *
 * `report --json` of docs/examples/train.py writes 1.7 bytes per byte of the uncompressed
 * recording, and 14 KB per site. For 4 million events from 64 sites
 * (tests/unit/helpers/make_recording.c) it writes 0.4 MB for 112 MB.
 */
enum {
	WORK_UNITS = 6 << 20,
	WORK_UNITS_PER_BYTE = 2,
	OUTPUT_BYTES = 40 << 20,
	OUTPUT_BYTES_PER_BYTE = 16
};

struct gmt_budget gmt_budget = { .work_units = UINT64_MAX, .output_bytes = UINT64_MAX };

static uint64_t budget_factor = 1;

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

void gmt_budget_set_factor(uint64_t factor)
{
	budget_factor = factor;
}

void gmt_budget_begin(void)
{
	gmt_budget.work_units = budget_factor ? product(WORK_UNITS, budget_factor) : UINT64_MAX;
	gmt_budget.output_bytes = budget_factor ? product(OUTPUT_BYTES, budget_factor) : UINT64_MAX;
}

void gmt_budget_add(uint64_t bytes)
{
	gmt_budget.work_units =
		sum(gmt_budget.work_units, product(product(bytes, WORK_UNITS_PER_BYTE), budget_factor));
	gmt_budget.output_bytes =
		sum(gmt_budget.output_bytes, product(product(bytes, OUTPUT_BYTES_PER_BYTE), budget_factor));
}

bool gmt_budget_leave_out(enum gmt_budget_part part)
{
	gmt_budget.left_out |= UINT32_C(1) << part;
	return false;
}

const char *gmt_budget_part_text(enum gmt_budget_part part)
{
	static const char *const texts[] = {
#define GMT_BUDGET_PART(NAME, text) text,
#include "base/budget_parts.def"
#undef GMT_BUDGET_PART
	};

	return texts[part];
}
