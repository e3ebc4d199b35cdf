/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/slope.h"

#include <math.h>
#include <stdlib.h>

#include "containers/map.h"
#include "containers/vec.h"

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/*
 * Moves the value of rank `rank` to its place, so that no larger value is in front of it (Hoare's
 * selection). Returns that value.
 */
static double select_rank(double *values, size_t count, size_t rank)
{
	ptrdiff_t first = 0, last = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)rank;

	while (first < last) {
		/* The pivot is at a pseudo-random index, because evenly rising sequences are common. */
		uint64_t length = (uint64_t)(last - first) + 1;
		double pivot = values[first + (ptrdiff_t)(gmt_hash_u64(length) % length)];
		ptrdiff_t i = first, j = last;

		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i > j)
				break;

			double value = values[i];
			values[i++] = values[j];
			values[j--] = value;
		}
		if (wanted <= j)
			last = j;
		else if (wanted >= i)
			first = i;
		else
			break;
	}
	return values[rank];
}

static double median_of(double *values, size_t count)
{
	double upper = select_rank(values, count, count / 2), lower = values[0];

	if (count % 2)
		return upper;
	for (size_t i = 1; i < count / 2; i++)
		lower = values[i] > lower ? values[i] : lower;
	return (lower + upper) / 2;
}

/* Returns how much equal values reduce the variance. Sorts `values`. */
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
			double rise = values[j] >= values[i] ? (double)(values[j] - values[i])
												 : -(double)(values[i] - values[j]);

			slopes.items[slopes.count++] = rise / (double)(j - i);
			rises += (rise > 0) - (rise < 0);
		}
	}
	ret_slope->per_step = median_of(slopes.items, pairs);
	ret_slope->confidence = confidence_of(rises, (double)count, ties_of(sorted.items, count));
	gmt_vec_fini(&slopes);
	gmt_vec_fini(&sorted);
	return true;
}
