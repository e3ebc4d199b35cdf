/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_FINISH_H
#define GMT_ANALYSIS_PAGE_PAGE_FINISH_H

#include "analysis/page/page.h"

/*
 * Completes the devices after the replay: their order, the sites of their entries, their refusals
 * and samples. The page's sites exist. False when out of memory.
 */
bool gmt_page_finish_devices(struct gmt_page *page, const struct gmt_page_results *results);

#endif
