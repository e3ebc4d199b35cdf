/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_SLOPE_H
#define GMT_ANALYSIS_LEAKS_SLOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Trend of a sequence of equally spaced values. */
struct gmt_slope {
	double per_step;   /* median of the slopes between all pairs (Theil-Sen) */
	/* Confidence that the values rise: 1 minus the one-sided p-value of the Mann-Kendall test. */
	double confidence;
};

/*
 * Computes the trend. Time is O(count squared), so use it for some hundreds of values. False when
 * out of memory.
 */
bool gmt_slope_of(const uint64_t *values, size_t count, struct gmt_slope *ret_slope);

#endif
