/* SPDX-License-Identifier: MIT */
/* Curves of held bytes: which of them become flat, and how fast uneven curves rise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "analysis/leaks/rise.h"

enum { SAMPLES = 200, WARMUP = 10, MARGIN = 8 };

static uint64_t held[SAMPLES];

static struct gmt_rise judge(size_t count)
{
	struct gmt_rise rise;

	assert_true(gmt_rise_of(
		&(struct gmt_rise_curve){
			.held = held,
			.low = held,
			.count = count,
			.first = WARMUP,
			.margin = MARGIN,
			.later_bytes = UINT64_MAX,
		},
		&rise));
	return rise;
}

/* Judges a curve that has `blocks(i)` blocks of 512 bytes after step i. */
static struct gmt_rise judge_blocks(double (*blocks)(double), size_t count)
{
	for (size_t i = 0; i < count; i++)
		held[i] = 512 * (uint64_t)blocks((double)i + 1);
	return judge(count);
}

/*
 * Heaps' law for the number of words in a text. The last steps add little more than half of what
 * the first steps add.
 */
static double words(double steps)
{
	return 14 * pow(steps, 0.45);
}

static double two_of_three(double steps)
{
	return 0.67 * steps;
}

/* A cache that is full after three steps, plus a leak. */
static double warm_and_leaking(double steps)
{
	return fmin(8 * steps, 24) + 0.4 * steps;
}

static void rises_that_become_rarer_fill_a_cache(void **state)
{
	(void)state;
	assert_int_equal(judge_blocks(words, 90).kind, GMT_RISE_FILLS);
}

static void regular_rises_are_growth_with_a_warm_cache_too(void **state)
{
	(void)state;
	assert_int_equal(judge_blocks(two_of_three, 90).kind, GMT_RISE_GROWS);
	assert_int_equal(judge_blocks(warm_and_leaking, 120).kind, GMT_RISE_GROWS);
}

static void rises_of_three_sizes_in_turn_have_the_rate_of_all_three(void **state)
{
	static const uint64_t sizes[] = { 16384, 10240, 4096 };
	uint64_t sum = 0;

	(void)state;
	for (size_t count = 44; count < 48; count++) {
		sum = 0;
		for (size_t i = 0; i < count; i++)
			held[i] = sum += sizes[i % 3];
		assert_true(fabs(judge(count).per_sample - 10240) < 1);
	}
}

static void rises_that_become_larger_have_the_mean_as_rate(void **state)
{
	uint64_t sum = 0;
	struct gmt_rise rise;
	double mean;

	(void)state;
	for (size_t i = 0; i < 60; i++)
		held[i] = sum += 512 * (i + 1);
	rise = judge(60);
	mean = (double)(held[59] - held[0]) / 59;
	assert_int_equal(rise.kind, GMT_RISE_GROWS);
	assert_true(fabs(rise.per_sample - mean) < 0.01 * mean);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rises_that_become_rarer_fill_a_cache),
		cmocka_unit_test(regular_rises_are_growth_with_a_warm_cache_too),
		cmocka_unit_test(rises_of_three_sizes_in_turn_have_the_rate_of_all_three),
		cmocka_unit_test(rises_that_become_larger_have_the_mean_as_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
