/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "containers/arena.h"
#include "base/budget.h"
#include "containers/intern.h"
#include "containers/intervals.h"
#include "containers/map.h"
#include "system/recording_name.h"
#include "base/status.h"
#include "base/text.h"
#include "containers/vec.h"

static void sizes_have_three_digits_and_iec_units(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 10234, "9.99 KiB" },
		{ 10240, "10.0 KiB" },
		{ 102348, "99.9 KiB" },
		{ 1047552, "1023 KiB" },
		{ 1048064, "1.00 MiB" },
		{ (uint64_t)80 << 30, "80.0 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(gmt_text_size(rows[i].bytes).text, rows[i].text);
}

static void counts_have_commas(void **state)
{
	(void)state;
	assert_string_equal(gmt_text_count(0).text, "0");
	assert_string_equal(gmt_text_count(999).text, "999");
	assert_string_equal(gmt_text_count(1000).text, "1,000");
	assert_string_equal(gmt_text_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void a_text_is_cut_between_utf8_characters(void **state)
{
	static const char text[] = "abc\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"; /* abcä€😀 */
	static const size_t lengths[] = { 3, 5, 5, 5, 8, 8, 8, 8, 12, 12 }; /* for 4, 5, ... bytes */

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		assert_int_equal(gmt_text_cut_length(text, sizeof(text) - 1, 4 + i), lengths[i]);
	assert_int_equal(gmt_text_cut_length("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
	assert_int_equal(gmt_text_cut_length("", 0, 4), 0);
}

static void a_copy_and_an_end_have_whole_characters(void **state)
{
	static const char text[] = "abc\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"; /* abcä€😀 */
	char copy[32];

	(void)state;
	gmt_text_copy(copy, 8, text);
	assert_string_equal(copy, "abc\xc3\xa4");
	gmt_text_copy(copy, 9, text);
	assert_string_equal(copy, "abc\xc3\xa4\xe2\x82\xac");
	gmt_text_copy(copy, sizeof(copy), text);
	assert_string_equal(copy, text);
	assert_string_equal(gmt_text_end(text, 3), "");
	assert_string_equal(gmt_text_end(text, 4), "\xf0\x9f\x98\x80");
	assert_string_equal(gmt_text_end(text, 8), "\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(gmt_text_end(text, sizeof(text) - 1), text);
	/* Bytes that are no UTF-8 are cut anywhere. */
	assert_int_equal(strlen(gmt_text_end("\x80\x80\x80\x80\x80\x80", 5)), 2);
}

static void durations_have_readable_units(void **state)
{
	(void)state;
	assert_string_equal(gmt_text_duration(0).text, "0 ns");
	assert_string_equal(gmt_text_duration(3420000).text, "3.42 ms");
	assert_string_equal(gmt_text_duration(12300000000).text, "12.3 s");
	assert_string_equal(gmt_text_duration((uint64_t)245 * 1000000000).text, "4 min 05 s");
	assert_string_equal(gmt_text_duration((uint64_t)7380 * 1000000000).text, "2 h 03 min");
}

static void sizes_are_read_with_units_and_refused_when_too_large(void **state)
{
	uint64_t bytes = 7;

	(void)state;
	assert_true(gmt_text_parse_size("512", &bytes));
	assert_int_equal(bytes, 512);
	assert_true(gmt_text_parse_size("2 GiB", &bytes));
	assert_int_equal(bytes, (uint64_t)2 << 30);
	assert_true(gmt_text_parse_size("3k", &bytes));
	assert_int_equal(bytes, 3072);
	assert_false(gmt_text_parse_size("16E", &bytes));
	assert_false(gmt_text_parse_size("", &bytes));
	assert_false(gmt_text_parse_size("5 apples", &bytes));
	assert_false(gmt_text_parse_size("-1", &bytes));
	assert_int_equal(bytes, 3072);
}

static void numbers_are_whole_and_fit(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(gmt_text_parse_u64("18446744073709551615", &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(gmt_text_parse_u64("18446744073709551616", &value));
	assert_false(gmt_text_parse_u64("12x", &value));
	assert_false(gmt_text_parse_u64("", &value));
	assert_false(gmt_text_parse_u64("-0", &value));
}

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

static void a_long_error_is_cut_to_one_line(void **state)
{
	struct gmt_error error;
	char long_text[4000];

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = 0;
	assert_int_equal(gmt_error_set(&error, GMT_FORMAT, "%s", long_text), GMT_FORMAT);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	assert_int_equal(gmt_error_set(NULL, GMT_USAGE, "x"), GMT_USAGE);
	assert_int_equal(gmt_status_exit_code(GMT_USAGE), 2);
	assert_int_equal(gmt_status_exit_code(GMT_NO_FILE), 3);
}

static void a_number_is_added_before_the_suffix(void **state)
{
	static const struct {
		const char *name, *numbered;
	} rows[] = {
		{ "train.gmt.gz", "train.7.gmt.gz" },
		{ "a.b/train.gmt.gz", "a.b/train.7.gmt.gz" },
		{ "train.gz", "train.7.gz" },
		{ "train", "train.7" },
		{ "x.gmt.gz/train", "x.gmt.gz/train.7" },
		{ "train.1.gmt.gz", "train.1.7.gmt.gz" },
		{ "train.gmt.gz.old", "train.gmt.gz.old.7" },
		{ ".gmt.gz", ".gmt.7.gz" },
		{ "d/.gz", "d/.gz.7" },
		{ "train.gmt", "train.gmt.7" },
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(name, sizeof(name), "%s", rows[i].name);
		assert_true(gmt_recording_name_number(name, sizeof(name), 7));
		assert_string_equal(name, rows[i].numbered);
	}
	strcpy(name, "train.gmt.gz");
	assert_false(gmt_recording_name_number(name, sizeof("train.7.gmt.gz") - 1, 7));
	assert_string_equal(name, "train.gmt.gz");
	assert_true(gmt_recording_name_number(name, sizeof("train.7.gmt.gz"), 7));
}

static void names_of_recordings_are_recognized(void **state)
{
	(void)state;
	assert_true(gmt_recording_name_matches("a/train.gmt.gz"));
	assert_true(gmt_recording_name_matches("train.1.gmt.gz"));
	assert_true(gmt_recording_name_matches("train.gmt.gz.12"));
	assert_false(gmt_recording_name_matches("train.gz"));
	assert_false(gmt_recording_name_matches(".gmt.gz"));
	assert_false(gmt_recording_name_matches("12"));
	assert_false(gmt_recording_name_matches(""));
	assert_false(gmt_recording_name_matches("train.gmt.gz.txt"));
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

static void a_budget_begins_with_the_file_and_follows_its_size(void **state)
{
	(void)state;
	assert_true(gmt_budget_spend(UINT64_MAX / 2, GMT_BUDGET_LAUNCHES));
	gmt_budget_begin();
	assert_false(gmt_budget_spend(UINT64_C(1) << 40, GMT_BUDGET_LAUNCHES));
	assert_true(gmt_budget_has_cut());
	gmt_budget_add(UINT64_C(1) << 40);
	assert_true(gmt_budget_spend(UINT64_C(1) << 40, GMT_BUDGET_LAUNCHES));
	gmt_budget_set_factor(0);
	gmt_budget_begin();
	assert_true(gmt_budget_spend(UINT64_MAX, GMT_BUDGET_LAUNCHES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_three_digits_and_iec_units),
		cmocka_unit_test(counts_have_commas),
		cmocka_unit_test(a_text_is_cut_between_utf8_characters),
		cmocka_unit_test(a_copy_and_an_end_have_whole_characters),
		cmocka_unit_test(durations_have_readable_units),
		cmocka_unit_test(sizes_are_read_with_units_and_refused_when_too_large),
		cmocka_unit_test(numbers_are_whole_and_fit),
		cmocka_unit_test(a_vector_keeps_its_items_while_it_grows),
		cmocka_unit_test(a_map_agrees_with_an_array_over_random_changes),
		cmocka_unit_test(an_empty_map_answers_without_memory),
		cmocka_unit_test(intervals_agree_with_an_array_over_random_changes),
		cmocka_unit_test(intervals_in_order_make_a_flat_tree),
		cmocka_unit_test(a_budget_begins_with_the_file_and_follows_its_size),
		cmocka_unit_test(arena_pieces_are_zeroed_aligned_and_disjoint),
		cmocka_unit_test(equal_bytes_get_one_id_and_different_bytes_get_others),
		cmocka_unit_test(a_long_error_is_cut_to_one_line),
		cmocka_unit_test(a_number_is_added_before_the_suffix),
		cmocka_unit_test(names_of_recordings_are_recognized),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
