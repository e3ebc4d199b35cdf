/* SPDX-License-Identifier: MIT */
#include "analysis/job/spread.h"

#include <stdlib.h>

enum { MIN_LIMIT_BYTES = 1 << 20, MIN_LIMIT_SHARE = 50 };

static const double limit_in_mads = 5 * 1.4826;

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

struct gmt_spread gmt_spread_of(uint64_t *values, size_t count)
{
	struct gmt_spread spread = { .count = count };

	if (!count)
		return spread;
	qsort(values, count, sizeof(*values), compare);
	spread.min = values[0];
	spread.median = values[(count - 1) / 2];
	spread.max = values[count - 1];

	/*
	 * The distances rise from the median to both ends. So the one in the middle of their order is
	 * found by merging the two sides, without a copy.
	 */
	size_t below = (count - 1) / 2 + 1, above = (count - 1) / 2 + 1;
	for (size_t i = 0; i <= (count - 1) / 2; i++) {
		uint64_t left = below ? distance(spread.median, values[below - 1]) : UINT64_MAX;
		uint64_t right = above < count ? distance(values[above], spread.median) : UINT64_MAX;

		spread.mad = left <= right ? left : right;
		if (left <= right)
			below--;
		else
			above++;
	}
	return spread;
}

uint64_t gmt_spread_limit(const struct gmt_spread *spread)
{
	double by_mad = limit_in_mads * (double)spread->mad;
	uint64_t limit = MIN_LIMIT_BYTES;

	if (spread->count < GMT_SPREAD_MIN_VALUES)
		return UINT64_MAX;
	if (spread->median / MIN_LIMIT_SHARE > limit)
		limit = spread->median / MIN_LIMIT_SHARE;
	return by_mad > (double)limit ? (uint64_t)by_mad : limit;
}

bool gmt_spread_is_outlier(const struct gmt_spread *spread, uint64_t value)
{
	return distance(value, spread->median) > gmt_spread_limit(spread);
}
