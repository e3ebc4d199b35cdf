/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

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
	assert_string_equal(gmt_text_tail(text, 3), "");
	assert_string_equal(gmt_text_tail(text, 4), "\xf0\x9f\x98\x80");
	assert_string_equal(gmt_text_tail(text, 8), "\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(gmt_text_tail(text, sizeof(text) - 1), text);
	/* Bytes that are no UTF-8 are cut anywhere. */
	assert_int_equal(strlen(gmt_text_tail("\x80\x80\x80\x80\x80\x80", 5)), 2);
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
