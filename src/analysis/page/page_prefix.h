/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_PREFIX_H
#define GMT_ANALYSIS_PAGE_PAGE_PREFIX_H

#include "analysis/page/page_account.h"
#include "reader/replay/replay.h"

/*
 * Sets what happened in the compacted prefix, from the accounting that includes it. `account` is
 * number `id` there, and is in its first bucket. False when out of memory.
 */
bool gmt_page_prefix_set(struct gmt_page_account *account, struct gmt_page_context *context,
	const struct gmt_replay *replay, uint32_t id);

/* Adds a surviving block to the live bytes of its phase, or removes it if `is_end`. */
void gmt_page_prefix_phase(struct gmt_page_account *account, unsigned phase, uint64_t size_bytes,
	bool is_end);

#endif
