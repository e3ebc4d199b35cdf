/* SPDX-License-Identifier: MIT */
#include "work_limit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The compiler inserts a call of this function before each basic block. libFuzzer's own coverage
 * uses the same function.
 */
void __sanitizer_cov_trace_pc(void);

/*
 * Measured: the corpus costs at most 151 blocks a byte (fuzz_load, 9,070,585 for 59,895 bytes). The
 * reader's own budget (base/budget.h) ends the loops that it knows after some 130 million blocks
 * for each file that is loaded. What goes beyond both is a finding.
 */
#define WORK_BLOCKS UINT64_C(1500000000)
#define WORK_BLOCKS_A_BYTE UINT64_C(20000)

static uint64_t limit = UINT64_MAX, max_count;
static size_t size_now, size_of_most;
/* Threads of the reader count too. They may lose counts, which does not matter for a limit. */
static volatile uint64_t count;

void __sanitizer_cov_trace_pc(void)
{
	uint64_t next = count + 1;

	count = next;
	if (next != limit)
		return;
	fprintf(stderr, "an input of %zu bytes costs more than %llu basic blocks\n", size_now,
		(unsigned long long)limit);
	abort();
}

void fuzz_work_begin(size_t size)
{
	size_now = size;
	count = 0;
	limit = WORK_BLOCKS + size * WORK_BLOCKS_A_BYTE;
}

void fuzz_work_end(void)
{
	limit = UINT64_MAX;
	if (count <= max_count)
		return;
	max_count = count;
	size_of_most = size_now;
}

void fuzz_work_print(void)
{
	printf("at most %llu basic blocks, for %zu bytes\n", (unsigned long long)max_count,
		size_of_most);
}
