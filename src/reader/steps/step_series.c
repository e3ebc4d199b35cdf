/* SPDX-License-Identifier: MIT */
#include "reader/steps/timeline.h"

#include "containers/bisect.h"

bool gmt_series_find(const struct gmt_step_series *series, uint64_t stamp, uint32_t *ret_step)
{
	size_t ended = GMT_BISECT(at, series->steps.count, series->steps.items[at].end < stamp);

	*ret_step = (uint32_t)ended;
	return ended < series->steps.count && series->steps.items[ended].begin < stamp;
}

bool gmt_series_find_next(const struct gmt_step_series *series, uint64_t stamp, uint32_t *step)
{
	const struct gmt_step *steps = series->steps.items;
	size_t at = *step;

	if ((at && steps[at - 1].end >= stamp) || (at < series->steps.count && steps[at].end < stamp))
		return gmt_series_find(series, stamp, step);
	return at < series->steps.count && steps[at].begin < stamp;
}
