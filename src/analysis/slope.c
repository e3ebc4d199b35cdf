/* SPDX-License-Identifier: MIT */
#include "analysis/slope.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* What equal values take from the variance; sorts `values`. */
static double ties_of(uint64_t *values, size_t count)
{
	double ties = 0;

	qsort(values, count, sizeof(*values), by_number);
	for (size_t i = 0, run; i < count; i += run) {
		for (run = 1; i + run < count && values[i + run] == values[i]; run++)
			;
		ties += (double)run * (double)(run - 1) * (2.0 * (double)run + 5);
	}
	return ties;
}

static double confidence_of(double rises, double count, double ties)
{
	double variance = (count * (count - 1) * (2 * count + 5) - ties) / 18;

	if (variance <= 0 || rises <= 0)
		return 0;
	return 0.5 * erfc(-(rises - 1) / sqrt(variance) / sqrt(2));
}

bool gmt_slope_of(const uint64_t *values, size_t count, struct gmt_slope *ret_slope)
{
	GMT_VEC(double) slopes = { 0 };
	GMT_VEC(uint64_t) sorted = { 0 };
	size_t pairs = count * (count - (count != 0)) / 2;
	double rises = 0;

	*ret_slope = (struct gmt_slope){ 0 };
	if (count < 2)
		return true;
	if (!gmt_vec_reserve(&slopes, pairs) || !gmt_vec_reserve(&sorted, count)) {
		gmt_vec_fini(&slopes);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		sorted.items[i] = values[i];
		for (size_t j = i + 1; j < count; j++) {
			double rise = values[j] >= values[i] ? (double)(values[j] - values[i]) :
				-(double)(values[i] - values[j]);

			slopes.items[slopes.count++] = rise / (double)(j - i);
			rises += (rise > 0) - (rise < 0);
		}
	}
	qsort(slopes.items, pairs, sizeof(*slopes.items), by_value);
	ret_slope->per_step = pairs % 2 ? slopes.items[pairs / 2] :
		(slopes.items[pairs / 2 - 1] + slopes.items[pairs / 2]) / 2;
	ret_slope->confidence = confidence_of(rises, (double)count, ties_of(sorted.items, count));
	gmt_vec_fini(&slopes);
	gmt_vec_fini(&sorted);
	return true;
}
