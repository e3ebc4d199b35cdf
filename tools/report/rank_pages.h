/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_REPORT_RANK_PAGES_H
#define GMT_TOOLS_REPORT_RANK_PAGES_H

/*
 * The page of `ranks --html`: the job, and the recordings of some of its ranks, each with the data
 * that `report --html` writes for it.
 */

#include <stdint.h>
#include <stdio.h>

#include "reader/stacks/traces.h"
#include "render/ranks.h"

enum { GMT_RANK_PAGES = 8 }; /* recordings in the page, unless the user asks for more */

struct gmt_rank_pages {
	const struct gmt_ranks_view *view;
	const struct gmt_traces_options *traces;
	uint64_t max_recordings; /* recordings in the page; UINT64_MAX: all that exist */
};

/*
 * Writes the page to `document`. It has the recordings of the ranks that stand out: those that
 * failed, were killed or grew first, the outliers, and the middle of each group; of a job with at
 * most `max_recordings` ranks, all. Returns 0, or the exit code of the last recording that could
 * not be read, after an error message; the page is complete in both cases. Returns -1 after an
 * error message if memory is exhausted.
 */
int gmt_rank_pages_write(const struct gmt_rank_pages *pages, FILE *document);

#endif
