/* SPDX-License-Identifier: MIT */
#include "reader/steps/timeline.h"

bool gmt_series_find(const struct gmt_step_series *series, uint64_t stamp, uint32_t *ret_step)
{
	size_t low = 0, high = series->steps.count;

	/* Finds the first step that ends at or after the stamp. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series->steps.items[middle].end < stamp)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_step = (uint32_t)low;
	return low < series->steps.count && series->steps.items[low].begin < stamp;
}

bool gmt_series_find_next(const struct gmt_step_series *series, uint64_t stamp, uint32_t *step)
{
	const struct gmt_step *steps = series->steps.items;
	size_t at = *step;

	if ((at && steps[at - 1].end >= stamp) || (at < series->steps.count && steps[at].end < stamp))
		return gmt_series_find(series, stamp, step);
	return at < series->steps.count && steps[at].begin < stamp;
}
