/* SPDX-License-Identifier: MIT */
/*
 * Two ways to find the steps of a recording: periods of a sequence, and counters that are joined.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reader/steps/step_counters.h"
#include "reader/steps/period.h"

/*
 * Returns the period of a text whose letters are the tokens. *ret_length gets the period's length.
 */
static size_t period_of(const char *text, size_t *ret_length)
{
	uint64_t tokens[64];
	size_t count = strlen(text), period;

	for (size_t i = 0; i < count; i++)
		tokens[i] = (uint64_t)text[i];
	assert_true(gmt_period_find(tokens, count, &period, ret_length));
	return period;
}

static void the_shortest_period_at_the_end_is_found(void **state)
{
	static const struct {
		const char *text;
		size_t period, length;
	} rows[] = {
		{ "aaa", 1, 3 },
		{ "ababab", 2, 6 },
		{ "abcabcabc", 3, 9 },
		{ "xabcabcabc", 3, 9 },
		{ "bcabcabc", 0, 0 },
		{ "abcdabcdabcdab", 4, 14 },
		{ "aabaabaab", 3, 9 },
		{ "abcdefgh", 0, 0 },
		{ "", 0, 0 },
		{ "a", 0, 0 },
		{ "aa", 0, 0 },
		{ "wwwxyzababab", 2, 6 },
		{ "wwwxyzvababab", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t length;

		assert_int_equal(period_of(rows[i].text, &length), rows[i].period);
		assert_int_equal(length, rows[i].length);
	}
}

static void a_short_period_at_the_end_is_found(void **state)
{
	static const struct {
		const char *text;
		size_t period;
	} rows[] = {
		{ "wxyzvuabcabcabc", 3 },
		{ "abababxababab", 2 },
		{ "abcabcabcx", 0 },
		{ "aaa", 1 },
		{ "abcabc", 0 },
		{ "aa", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t tokens[64];
		size_t count = strlen(rows[i].text), period;

		for (size_t j = 0; j < count; j++)
			tokens[j] = (uint64_t)rows[i].text[j];
		assert_true(gmt_period_find_at_end(tokens, count, 3, &period));
		assert_int_equal(period, rows[i].period);
	}
}

static void count(struct gmt_step_counters *counters, const char *text)
{
	/* Each letter is a thing. Capital letters are of class B. */
	for (uint64_t i = 0; text[i]; i++)
		assert_true(gmt_step_counters_add(counters, (uint64_t)text[i], text[i] < 'a' ? "B" : "A",
			i + 1));
	assert_true(gmt_step_counters_chain(counters, GMT_STEP_COUNTERS_OF_A_CLASS));
}

/* Returns those letters of "abAB" that count. */
static const char *winners(const char *text)
{
	static char answer[8];
	struct gmt_step_counters counters = { 0 };
	size_t length = 0;

	count(&counters, text);
	for (const char *at = "abAB"; *at; at++)
		if (gmt_step_counters_counts(&counters, (uint64_t)*at, *at < 'a' ? "B" : "A"))
			answer[length++] = *at;
	answer[length] = 0;
	gmt_step_counters_fini(&counters);
	return answer;
}

static void the_counter_with_most_steps_wins_and_the_first_of_equal_ones(void **state)
{
	(void)state;
	assert_string_equal(winners("aababb"), "a");
	assert_string_equal(winners("abbab"), "b");
	assert_string_equal(winners("aaaABAB"), "a");
	assert_string_equal(winners(""), "");
}

static void consecutive_counters_of_one_class_are_joined(void **state)
{
	(void)state;
	assert_string_equal(winners("aaabbbAAAAA"), "ab");
	assert_string_equal(winners("aaaAAAA"), "A");
	assert_string_equal(winners("AAABBaaaa"), "AB");
}

static bool count_both(const char *text, enum gmt_step_counters_chaining chaining)
{
	struct gmt_step_counters counters = { 0 };

	for (uint64_t i = 0; text[i]; i++)
		assert_true(gmt_step_counters_add(&counters, (uint64_t)text[i], text[i] == 'a' ? "A" : "B",
			i + 1));
	assert_true(gmt_step_counters_chain(&counters, chaining));

	bool both = gmt_step_counters_counts(&counters, 'a', "A") &&
		gmt_step_counters_counts(&counters, 'b', "B");
	gmt_step_counters_fini(&counters);
	return both;
}

static void counters_that_alternate_for_long_may_be_joined(void **state)
{
	(void)state;
	assert_true(count_both("aaabbbaaabbb", GMT_STEP_COUNTERS_IN_ROWS));
	assert_false(count_both("aaabbbaaabbb", GMT_STEP_COUNTERS_OF_ANY));
	assert_false(count_both("aaabaaab", GMT_STEP_COUNTERS_IN_ROWS));
	assert_false(count_both("ababab", GMT_STEP_COUNTERS_IN_ROWS));
	assert_true(count_both("aabb", GMT_STEP_COUNTERS_OF_ANY));
}

static void a_tie_before_the_end_does_not_decide(void **state)
{
	(void)state;
	/* Class B overtakes a (4 to 3). Then b makes class A equal: A wins, because it began first. */
	assert_string_equal(winners("aaAAaAAb"), "ab");
}

static void thousands_of_concurrent_counters_are_counted_fast(void **state)
{
	struct gmt_step_counters counters = { 0 };

	(void)state;
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t key = 0; key < 100000; key++)
			assert_true(gmt_step_counters_add(&counters, key, "A", 1 + round));
	assert_true(gmt_step_counters_chain(&counters, GMT_STEP_COUNTERS_OF_A_CLASS));
	assert_true(gmt_step_counters_counts(&counters, 0, "A"));
	assert_false(gmt_step_counters_counts(&counters, 1, "A"));
	gmt_step_counters_fini(&counters);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shortest_period_at_the_end_is_found),
		cmocka_unit_test(a_short_period_at_the_end_is_found),
		cmocka_unit_test(the_counter_with_most_steps_wins_and_the_first_of_equal_ones),
		cmocka_unit_test(consecutive_counters_of_one_class_are_joined),
		cmocka_unit_test(counters_that_alternate_for_long_may_be_joined),
		cmocka_unit_test(a_tie_before_the_end_does_not_decide),
		cmocka_unit_test(thousands_of_concurrent_counters_are_counted_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
