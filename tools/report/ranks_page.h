/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_RANKS_PAGE_H
#define GMT_TOOLS_REPORT_RANKS_PAGE_H

/*
 * The page of `ranks --html`: the job, and the recordings of some of its ranks with the same data
 * as in `report --html`.
 */

#include <stdint.h>
#include <stdio.h>

#include "reader/stacks/traces.h"
#include "render/ranks.h"

enum { GMT_RANKS_PAGE_RECORDINGS = 8 }; /* default number of recordings in the page */

struct gmt_ranks_page {
	const struct gmt_ranks_view *view;
	const struct gmt_traces_options *traces;
	uint64_t max_recordings; /* in the page; UINT64_MAX: no limit */
};

/*
 * Writes the page to `document`. The page has the recordings of the ranks that stand out: the first
 * rank that failed, was killed or grew, the outliers, and the median of each group. If the job has
 * at most `max_recordings` ranks, the page has all of them. Returns 0, or the exit code of the last
 * recording that could not be read, after an error message; the page is complete in both cases.
 * Returns -1 after an error message when out of memory.
 */
int gmt_ranks_page_write(const struct gmt_ranks_page *pages, FILE *document);

#endif
