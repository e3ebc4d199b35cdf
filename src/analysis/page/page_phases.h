/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_PHASES_H
#define GMT_ANALYSIS_PAGE_PAGE_PHASES_H

#include "analysis/page/page.h"

/*
 * Gives numbers to the names of phases: to all, or to those that lasted longest in total. False
 * when out of memory.
 */
bool gmt_page_phases_choose(struct gmt_page *page, const struct gmt_timeline *timeline);

/*
 * Returns the number of a phase. `phase` is an id in the attribution's phase_names, plus 1, or 0.
 */
static inline unsigned gmt_page_phase_of(const struct gmt_page *page, uint32_t phase)
{
	return phase && phase <= page->phase_of_name.count ? page->phase_of_name.items[phase - 1] : 0;
}

#endif
