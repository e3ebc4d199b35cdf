/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_SLOPE_H
#define GMT_ANALYSIS_LEAKS_SLOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a sequence of equally spaced values goes. */
struct gmt_slope {
	double per_step;   /* the median of the slopes between all pairs (Theil and Sen) */
	double confidence; /* that it rises: 1 less the one-sided p of the Mann-Kendall test */
};

/* O(count squared): for some hundreds of values. False when out of memory. */
bool gmt_slope_of(const uint64_t *values, size_t count, struct gmt_slope *ret_slope);

#endif
