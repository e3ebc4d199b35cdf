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
	free(set.storage);
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
	free(set.storage);
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
	free(set.storage);
}

static void a_queue_in_either_direction_takes_bounded_storage(void **state)
{
	for (int is_descending = 0; is_descending < 2; is_descending++) {
		struct sim_ranges set = { 0 };

		(void)state;
		for (size_t i = 0; i < 100 * COUNT; i++) {
			struct sim_range *range = &ranges[i % COUNT];
			size_t place = is_descending ? 100 * COUNT - i : i + 1;

			if (i >= COUNT)
				sim_ranges_remove(&set, range);
			*range = (struct sim_range){ STRIDE * place, SIZE };
			assert_true(sim_ranges_insert(&set, range));
			assert_ptr_equal(sim_ranges_find(&set, range->start), range);
			assert_ptr_equal(set.items[is_descending ? 0 : set.count - 1], range);
		}
		assert_int_equal(set.count, COUNT);
		assert_in_range(set.capacity, COUNT, 4 * COUNT);
		free(set.storage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_finds_its_range_and_no_other),
		cmocka_unit_test(a_removed_range_is_not_found_and_all_others_are),
		cmocka_unit_test(adjacent_ranges_do_not_overlap),
		cmocka_unit_test(a_queue_in_either_direction_takes_bounded_storage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
