/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../driver/memory/ranges.h"

enum { COUNT = 200, STRIDE = 100, SIZE = 60 };

static struct sim_range ranges[COUNT];

static void fill(struct sim_ranges *set)
{
	/* Inserts neither in ascending nor in descending order: 77 and 200 have no common divisor. */
	for (size_t i = 0; i < COUNT; i++) {
		size_t index = i * 77 % COUNT;
		ranges[index] = (struct sim_range){ STRIDE * (index + 1), SIZE };
		assert_true(sim_ranges_insert(set, &ranges[index]));
	}
}

static void every_address_finds_its_range_and_no_other(void **state)
{
	struct sim_ranges set = { 0 };

	(void)state;
	fill(&set);
	assert_null(sim_ranges_find(&set, 0));
	for (size_t i = 0; i < COUNT; i++) {
		assert_ptr_equal(sim_ranges_find(&set, ranges[i].start), &ranges[i]);
		assert_ptr_equal(sim_ranges_find(&set, ranges[i].start + SIZE - 1), &ranges[i]);
		assert_null(sim_ranges_find(&set, ranges[i].start + SIZE));
		assert_null(sim_ranges_find(&set, ranges[i].start - 1));
	}
	free(set.items);
}

static void a_removed_range_is_not_found_and_all_others_are(void **state)
{
	struct sim_ranges set = { 0 };

	(void)state;
	fill(&set);
	for (size_t i = 0; i < COUNT; i += 2)
		sim_ranges_remove(&set, &ranges[i]);
	for (size_t i = 0; i < COUNT; i++)
		assert_ptr_equal(sim_ranges_find(&set, ranges[i].start), i % 2 ? &ranges[i] : NULL);
	free(set.items);
}

static void adjacent_ranges_do_not_overlap(void **state)
{
	struct sim_ranges set = { 0 };

	(void)state;
	fill(&set);
	assert_false(sim_ranges_overlap(&set, STRIDE + SIZE, STRIDE - SIZE));
	assert_true(sim_ranges_overlap(&set, STRIDE + SIZE, STRIDE - SIZE + 1));
	assert_true(sim_ranges_overlap(&set, STRIDE + SIZE - 1, 1));
	assert_true(sim_ranges_overlap(&set, 0, STRIDE * COUNT * 2));
	free(set.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_finds_its_range_and_no_other),
		cmocka_unit_test(a_removed_range_is_not_found_and_all_others_are),
		cmocka_unit_test(adjacent_ranges_do_not_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
