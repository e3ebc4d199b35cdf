/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_MERGE_BUCKETS_H
#define GMT_ANALYSIS_PAGE_PAGE_MERGE_BUCKETS_H

#include "analysis/page/page_account.h"

/*
 * Merges the closed buckets of the account in pairs, so that they need less memory. The last one or
 * two buckets stay. Returns false when out of memory.
 */
bool gmt_page_account_merge_buckets(struct gmt_page_account *account,
	struct gmt_page_context *context);

#endif
