/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_SITES_CHOICE_H
#define GMT_ANALYSIS_PAGE_PAGE_SITES_CHOICE_H

#include "analysis/history/site_table.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"

/*
 * Chooses at most `max_sites` sites of the accounting: those of refused requests, and those with
 * the most bytes at a peak, at the end, and in total. `ret_chosen` gets a flag for each site of the
 * accounting. False when out of memory.
 */
struct gmt_page_flags { /* layout of a GMT_VEC */
	bool *items;
	size_t count, capacity;
};

bool gmt_page_choose_sites(const struct gmt_replay *replay, const struct gmt_sites *sites,
	size_t max_sites, struct gmt_page_flags *ret_chosen);

#endif
