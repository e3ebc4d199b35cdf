/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/job/job.h"

enum { MiB = 1 << 20 };

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The median of the distances, the long way. */
static uint64_t plain_mad(const uint64_t *values, size_t count, uint64_t median)
{
	uint64_t distances[64];

	for (size_t i = 0; i < count; i++)
		distances[i] = values[i] > median ? values[i] - median : median - values[i];
	qsort(distances, count, sizeof(*distances), compare);
	return distances[(count - 1) / 2];
}

static void the_median_and_mad_are_those_of_sorted_lists(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (size_t count = 1; count < 64; count++)
		for (int round = 0; round < 50; round++) {
			uint64_t values[64], sorted[64];
			struct gmt_spread spread;

			for (size_t i = 0; i < count; i++) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				values[i] = (random >> 33) % (round % 2 ? 10 : 1000000);
			}
			memcpy(sorted, values, sizeof(sorted));
			qsort(sorted, count, sizeof(*sorted), compare);
			spread = gmt_spread_of(values, count);
			assert_int_equal(spread.min, sorted[0]);
			assert_int_equal(spread.max, sorted[count - 1]);
			assert_int_equal(spread.median, sorted[(count - 1) / 2]);
			assert_int_equal(spread.mad, plain_mad(sorted, count, spread.median));
		}
}

static void no_values_have_zeros_and_no_outlier(void **state)
{
	struct gmt_spread spread = gmt_spread_of(NULL, 0);

	(void)state;
	assert_int_equal(spread.count, 0);
	assert_int_equal(spread.max, 0);
	assert_false(gmt_spread_is_outlier(&spread, UINT64_MAX));
}

static void two_values_have_no_outlier(void **state)
{
	uint64_t values[] = { 1, (uint64_t)1 << 40 };
	struct gmt_spread spread = gmt_spread_of(values, 2);

	(void)state;
	assert_false(gmt_spread_is_outlier(&spread, (uint64_t)1 << 40));
}

static void one_far_value_of_equal_ones_is_an_outlier_beyond_2_percent(void **state)
{
	uint64_t values[] = { 100 * MiB, 100 * MiB, 100 * MiB, 103 * MiB };
	struct gmt_spread spread = gmt_spread_of(values, 4);

	(void)state;
	assert_true(gmt_spread_is_outlier(&spread, 103 * MiB));
	assert_true(gmt_spread_is_outlier(&spread, 97 * MiB));
	assert_false(gmt_spread_is_outlier(&spread, 102 * MiB));
	assert_false(gmt_spread_is_outlier(&spread, 98 * MiB));
}

static void small_values_may_differ_by_a_mebibyte(void **state)
{
	uint64_t values[] = { 1000, 1000, 1000 };
	struct gmt_spread spread = gmt_spread_of(values, 3);

	(void)state;
	assert_false(gmt_spread_is_outlier(&spread, 1000 + MiB));
	assert_true(gmt_spread_is_outlier(&spread, 1001 + MiB));
}

static void scattered_values_widen_the_limit(void **state)
{
	uint64_t values[] = { 60 * MiB, 80 * MiB, 100 * MiB, 120 * MiB, 140 * MiB };
	struct gmt_spread spread = gmt_spread_of(values, 5);

	(void)state;
	assert_int_equal(spread.mad, 20 * MiB);
	assert_false(gmt_spread_is_outlier(&spread, 248 * MiB));
	assert_true(gmt_spread_is_outlier(&spread, 249 * MiB));
}

static void a_wrong_value_does_not_move_the_limit(void **state)
{
	uint64_t values[] = { 100 * MiB, 101 * MiB, 99 * MiB, 100 * MiB, UINT64_MAX };
	struct gmt_spread spread = gmt_spread_of(values, 5);

	(void)state;
	assert_int_equal(spread.median, 100 * MiB);
	assert_int_equal(spread.mad, 1 * MiB);
	assert_true(gmt_spread_is_outlier(&spread, UINT64_MAX));
}

static void lists_of_ranks_name_ranges_and_end_with_dots(void **state)
{
	const uint32_t ranks[] = { 1, 2, 3, 5, 7, 8, 4000000000u };
	char text[64], small[16];

	(void)state;
	gmt_job_list_ranks(ranks, 7, text, sizeof(text));
	assert_string_equal(text, "1-3, 5, 7, 8, 4000000000");
	gmt_job_list_ranks(ranks, 7, small, sizeof(small));
	assert_string_equal(small, "1-3, 5, ...");
	gmt_job_list_ranks(ranks, 0, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_and_mad_are_those_of_sorted_lists),
		cmocka_unit_test(no_values_have_zeros_and_no_outlier),
		cmocka_unit_test(two_values_have_no_outlier),
		cmocka_unit_test(one_far_value_of_equal_ones_is_an_outlier_beyond_2_percent),
		cmocka_unit_test(small_values_may_differ_by_a_mebibyte),
		cmocka_unit_test(scattered_values_widen_the_limit),
		cmocka_unit_test(a_wrong_value_does_not_move_the_limit),
		cmocka_unit_test(lists_of_ranks_name_ranges_and_end_with_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
