/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "containers/arena.h"
#include "containers/intern.h"
#include "containers/intervals.h"
#include "containers/map.h"
#include "containers/vec.h"

static void a_vector_keeps_its_items_while_it_grows(void **state)
{
	GMT_VEC(uint64_t) vec = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t *item = gmt_vec_push(&vec);

		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i * i;
	}
	for (uint64_t i = 0; i < vec.count; i++)
		assert_int_equal(vec.items[i], i * i);
	assert_false(gmt_vec_reserve(&vec, SIZE_MAX / 8));
	assert_int_equal(vec.count, 100000);
	gmt_vec_fini(&vec);
	assert_null(vec.items);
}

static void a_map_agrees_with_an_array_over_random_changes(void **state)
{
	enum { KEYS = 3000, STEPS = 300000 };
	static uint64_t truth[KEYS]; /* value + 1 */
	struct gmt_map map = { 0 };
	uint64_t random = 1, count = 0;

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		uint64_t value = 0, key;

		random = gmt_hash_u64(random);
		key = random % KEYS;
		if (random >> 40 & 1) {
			assert_true(gmt_map_put(&map, key * 4096, (uint64_t)i));
			count += !truth[key];
			truth[key] = (uint64_t)i + 1;
		} else {
			assert_int_equal(gmt_map_remove(&map, key * 4096, &value), truth[key] != 0);
			if (truth[key])
				assert_int_equal(value, truth[key] - 1);
			count -= truth[key] != 0;
			truth[key] = 0;
		}
		assert_int_equal(map.count, count);
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t value = 0;

		assert_int_equal(gmt_map_find(&map, key * 4096, &value), truth[key] != 0);
		if (truth[key])
			assert_int_equal(value, truth[key] - 1);
	}
	gmt_map_fini(&map);
}

static void an_empty_map_answers_without_memory(void **state)
{
	struct gmt_map map = { 0 };
	uint64_t value;

	(void)state;
	assert_false(gmt_map_find(&map, 0, &value));
	assert_false(gmt_map_remove(&map, 0, NULL));
	gmt_map_fini(&map);
}

static void arena_pieces_are_zeroed_aligned_and_disjoint(void **state)
{
	struct gmt_arena arena = { 0 };

	(void)state;
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *piece = gmt_arena_alloc(&arena, size);

		assert_non_null(piece);
		assert_int_equal((uintptr_t)piece % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(piece[i], 0);
		memset(piece, 0xff, size);
	}
	assert_non_null(gmt_arena_alloc(&arena, 10 << 20));
	assert_null(gmt_arena_alloc(&arena, SIZE_MAX));
	assert_string_equal(gmt_arena_copy(&arena, "abcdef", 3), "abc");
	gmt_arena_fini(&arena);
}

static void equal_bytes_get_one_id_and_different_bytes_get_others(void **state)
{
	struct gmt_intern intern = { 0 };
	uint32_t id, empty;

	(void)state;
	assert_true(gmt_intern_text(&intern, "", &empty));
	assert_int_equal(empty, 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 20000; i++) {
			uint64_t bytes[2] = { i % 7, i };

			assert_true(gmt_intern(&intern, bytes, sizeof(bytes), &id));
			assert_int_equal(id, i + 1);
			assert_memory_equal(gmt_intern_get(&intern, id)->bytes, bytes, sizeof(bytes));
		}
	assert_true(gmt_intern(&intern, "a\0b", 3, &id));
	assert_int_equal(gmt_intern_get(&intern, id)->length, 3);
	assert_true(gmt_intern(&intern, NULL, 0, &id));
	assert_int_equal(id, empty);
	gmt_intern_fini(&intern);
}

/* The intervals by first address, in 64 places. An end of 0 means no interval. */
static void intervals_agree_with_an_array_over_random_changes(void **state)
{
	enum { PLACES = 64, ROUNDS = 20000 };
	struct gmt_intervals intervals = { 0 };
	uint64_t ends[PLACES] = { 0 }, random = 1, first;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned at, found = PLACES, next = PLACES;

		random = gmt_hash_u64(random + round);
		at = (unsigned)(random % PLACES);
		if (random >> 32 & 1) {
			ends[at] = at + 1 + (random >> 40) % 20;
			assert_true(gmt_intervals_put(&intervals, at, ends[at]));
		} else {
			ends[at] = 0;
			gmt_intervals_remove(&intervals, at);
		}
		at = (unsigned)((random >> 16) % PLACES);
		for (unsigned i = 0; i < PLACES; i++) {
			if (i <= at && ends[i] > at)
				found = i;
			if (i >= at && ends[i] && next == PLACES)
				next = i;
		}
		assert_int_equal(gmt_intervals_find(&intervals, at, &first), found < PLACES);
		assert_true(found == PLACES || first == found);
		assert_int_equal(gmt_intervals_next(&intervals, at, &first), next < PLACES);
		assert_true(next == PLACES || first == next);
	}
	gmt_intervals_fini(&intervals);
}

static void intervals_in_order_make_a_flat_tree(void **state)
{
	enum { COUNT = 1 << 16 };
	struct gmt_intervals intervals = { 0 };

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(gmt_intervals_put(&intervals, i, i + 1));
	/* The height of an AVL tree is at most 1.44 times the logarithm. */
	assert_true(intervals.nodes.items[intervals.root - 1].height <= 23);
	gmt_intervals_fini(&intervals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_keeps_its_items_while_it_grows),
		cmocka_unit_test(a_map_agrees_with_an_array_over_random_changes),
		cmocka_unit_test(an_empty_map_answers_without_memory),
		cmocka_unit_test(arena_pieces_are_zeroed_aligned_and_disjoint),
		cmocka_unit_test(equal_bytes_get_one_id_and_different_bytes_get_others),
		cmocka_unit_test(intervals_agree_with_an_array_over_random_changes),
		cmocka_unit_test(intervals_in_order_make_a_flat_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
