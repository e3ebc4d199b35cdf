/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_SPREAD_H
#define GMT_ANALYSIS_JOB_SPREAD_H

/*
 * Robust statistics, which a few outliers hardly change: the median, and the median of the
 * distances to it (MAD). Pure functions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GMT_SPREAD_MIN_VALUES = 3 }; /* fewer values have no outlier */

struct gmt_spread {
	size_t count;
	uint64_t min, median, max; /* an even number of values: the lower of the middle two */
	uint64_t mad;              /* median of the distances to the median */
};

/* Computes the statistics of `count` values. Sorts `values`. All zeros for no values. */
struct gmt_spread gmt_spread_of(uint64_t *values, size_t count);

/*
 * Returns the distance from the median beyond which a value is an outlier: five standard
 * deviations, which are estimated as 1.4826 MAD, but at least 2 % of the median and 1 MiB.
 * UINT64_MAX for fewer than GMT_SPREAD_MIN_VALUES values.
 */
uint64_t gmt_spread_limit(const struct gmt_spread *spread);

bool gmt_spread_is_outlier(const struct gmt_spread *spread, uint64_t value);

#endif
