/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_BLOCKS_H
#define GMT_ANALYSIS_PAGE_PAGE_BLOCKS_H

/*
 * Keeps the largest blocks of a device, by size times lifetime, in a binary heap of bounded size.
 */

#include <stdbool.h>
#include <stdint.h>

#include "accounting/accounting.h"
#include "containers/vec.h"

enum { GMT_PAGE_BLOCKS = 30000 }; /* most blocks of a device */

struct gmt_page_block {
	double weight; /* size times lifetime, in bytes times ticks */
	uint64_t begin_stamp;
	uint64_t end_stamp; /* UINT64_MAX: it lives */
	uint64_t address, size_bytes;
	uint32_t site;
};

struct gmt_page_blocks {
	/* a heap, the block of least weight first; gmt_page_blocks_sort sorts it by begin_stamp */
	GMT_VEC(struct gmt_page_block) kept;
	double kept_weight, total_weight;
	uint64_t total; /* number of all blocks */
};

/*
 * Adds a block that ended at a stamp, or that lives (is_live) at the end of the replay, which is
 * that stamp. False when out of memory.
 */
bool gmt_page_blocks_add(struct gmt_page_blocks *blocks,
	const struct gmt_addressed_block *addressed, uint64_t stamp, bool is_live);

/* Sorts the kept blocks and sums their weight. No block can be added afterwards. */
void gmt_page_blocks_sort(struct gmt_page_blocks *blocks);

void gmt_page_blocks_fini(struct gmt_page_blocks *blocks);

#endif
