/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "options/option_value.h"
#include "options/rank_list.h"
#include "options/recorder_options.h"

enum { LINES_BYTES = 4096 };

/*
 * The result of one text of options: a line for each complaint, with "refused: " or "advice: " in
 * front.
 */
struct outcome {
	struct gmt_recorder_settings settings;
	char lines[LINES_BYTES];
};

static void keep_line(void *context, const struct gmt_option_complaint *complaint)
{
	struct outcome *outcome = context;
	size_t length = strlen(outcome->lines);

	assert_true(strlen(complaint->line) < GMT_RECORDER_COMPLAINT_BYTES);
	snprintf(outcome->lines + length, LINES_BYTES - length, "%s: %s; %s\n",
		complaint->is_refused ? "refused" : "advice", complaint->line, complaint->consequence);
}

static const struct outcome *read_options(const char *text)
{
	static struct outcome outcome;

	memset(&outcome, 0, sizeof(outcome));
	gmt_recorder_options_read(text, &outcome.settings, keep_line, &outcome);
	return &outcome;
}

static void assert_in_force(const char *text, const char *key, const char *value)
{
	const struct outcome *outcome = read_options(text);

	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++) {
		enum gmt_recorder_option option = (enum gmt_recorder_option)i;

		if (strcmp(gmt_recorder_option(option)->key, key) == 0) {
			assert_string_equal(gmt_recorder_setting(&outcome->settings, option), value);
			return;
		}
	}
	fail();
}

static void a_list_of_ranks_has_its_ranges_and_every_nth_of_them(void **state)
{
	static const struct {
		const char *list;
		int32_t rank;
		bool is_in;
	} cases[] = {
		{ "all", 3, true },
		{ "*", 3, true },
		{ "3", 3, true },
		{ "3", 30, false },
		{ "0,8-15", 8, true },
		{ "0,8-15", 15, true },
		{ "0,8-15", 16, false },
		{ "4-64/8", 12, true },
		{ "4-64/8", 8, false },
		{ "*/1000", INT32_MAX - INT32_MAX % 1000, true },
		{ "7", -1, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(gmt_rank_list_has(cases[i].list, cases[i].rank), cases[i].is_in);
	assert_false(gmt_rank_list_is_valid(""));
	assert_false(gmt_rank_list_is_valid("1-"));
	assert_false(gmt_rank_list_is_valid("1,,2"));
	assert_false(gmt_rank_list_is_valid("9999999999"));
	assert_in_force("ranks=0,8-15", "ranks", "0,8-15");
	assert_in_force("ranks=0-", "ranks", "all");
}

static void every_default_is_a_valid_value(void **state)
{
	const struct outcome *outcome = read_options(NULL);

	(void)state;
	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++) {
		enum gmt_recorder_option option = (enum gmt_recorder_option)i;
		const struct gmt_recorder_option_row *row = gmt_recorder_option(option);

		assert_true(gmt_option_value_is_allowed(row->values, row->fallback));
		assert_true(strlen(row->fallback) < GMT_RECORDER_VALUE_BYTES);
		assert_string_equal(gmt_recorder_setting(&outcome->settings, option), row->fallback);
		assert_false(outcome->settings.is_given[option]);
	}
	assert_string_equal(outcome->lines, "");
}

static void valid_options_cause_no_message(void **state)
{
	(void)state;
	assert_in_force("depth=12", "depth", "12");
	assert_in_force("::depth=12:", "depth", "12");
	assert_in_force("stacks=none:output='a:b.gz':depth=4", "output", "a:b.gz");
	assert_in_force("output=\"it's\".gz", "output", "it's.gz");
	assert_in_force("mode=window:window=20steps", "window", "20steps");
	assert_in_force("max_size=4 GiB", "max_size", "4 GiB");
	assert_in_force("depth=3:depth=3", "depth", "3");
	assert_string_equal(read_options("::depth=12:")->lines, "");
	assert_string_equal(
		read_options("mode=window:window=20steps:max_size=1MiB:output=x.%p.%q{A}.gz")->lines, "");
	assert_string_equal(read_options("depth=3:depth=3")->lines, "");
}

static void a_refused_option_is_reported_with_a_hint_and_the_value_in_force(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "depth=12x", "depth=12x is ignored: did you mean 12?; depth=128 is used" },
		{ "depth=4:depth=4x", "depth=4x is ignored: did you mean 4?; depth=4 is used" },
		{ "max_size=4GiBx",
			"max_size=4GiBx is ignored: did you mean 4GiB?; max_size=4GiB is used" },
		{ "memory=-1", "memory=-1 is ignored: it takes 16MiB..8GiB; memory=64MiB is used" },
		{ "memory=", "memory= is ignored: it takes 16MiB..8GiB; memory=64MiB is used" },
		{ "memory=64", "memory=64 is ignored: did you mean 64MiB?; memory=64MiB is used" },
		{ "memory=1MiB", "memory=1MiB is ignored: the smallest is 16MiB; memory=64MiB is used" },
		{ "max_size=1KiB",
			"max_size=1KiB is ignored: the smallest is 1MiB; max_size=4GiB is used" },
		{ "depth=99999999999999999999", "is ignored: the largest is 512; depth=128 is used" },
		{ "mode=window:window=0", "window=0 is ignored: the smallest is 1; window=100000 is used" },
		{ "stacks=None", "stacks=None is ignored: did you mean none?; stacks=all is used" },
		{ "output=a/", "output=a/ names a folder; add a file name; output=gpumemtrace." },
		{ "output=%z.gz", "has the unknown token %z" },
		{ "output=50%", "has the unknown token %" },
		{ "output=%q{A.gz", "has the unknown token %q" },
		{ "output=..", "names a folder" },
		{ "dept=3", "unknown option `dept`; did you mean depth?" },
		{ " stacks=none", "unknown option ` stacks`; did you mean stacks?" },
		{ "free-stacks=on", "did you mean free_stacks?" },
		{ "xyzzy=1", "unknown option `xyzzy`; help=1 lists all options" },
		{ "help", "help has no value; write help=0" },
		{ "depth=3,stacks=none", "separate options by colons, not by `,`" },
		{ "depth=3; stacks=none", "separate options by colons, not by `;`" },
		{ "depth=3 stacks=none", "separate options by colons, not by ` `" },
		{ "output='a.gz:depth=4", "has an unclosed quote; it is ignored" },
		{ "window=30s", "window=30s has no effect with mode=full; add mode=window" },
		{ "mode=aggregate:window=30s", "window=30s has no effect with mode=aggregate" },
		{ "stacks=none:free_stacks=on", "free_stacks=on has no effect with stacks=none" },
		{ "selftest=5:stacks=none", "selftest has no stacks" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct outcome *outcome = read_options(cases[i].text);

		if (!strstr(outcome->lines, cases[i].said) || strncmp(outcome->lines, "refused: ", 9) != 0)
			fail_msg("%s: %s", cases[i].text, outcome->lines);
		/* Each complaint is one line. */
		assert_ptr_equal(strchr(outcome->lines, '\n'), outcome->lines + strlen(outcome->lines) - 1);
	}
}

static void a_refused_option_changes_nothing(void **state)
{
	(void)state;
	assert_in_force("depth=4:depth=4x", "depth", "4");
	assert_in_force("output=%z.gz", "output", "gpumemtrace.%e.%h.%p.gmt.gz");
	assert_in_force("output='a.gz:depth=4", "depth", "128");
	assert_in_force("output='a.gz:depth=4", "output", "gpumemtrace.%e.%h.%p.gmt.gz");
	assert_in_force("max_size=1KiB:depth=5", "depth", "5");
}

static void the_last_of_two_values_counts_and_is_reported(void **state)
{
	(void)state;
	assert_in_force("depth=3:depth=4", "depth", "4");
	assert_string_equal(read_options("depth=3:depth=4")->lines,
		"advice: depth is given more than once; the last one, depth=4, is used; \n");
}

static void a_refused_mode_causes_no_message_about_the_window(void **state)
{
	(void)state;
	assert_string_equal(read_options("mode=windows:window=5")->lines,
		"refused: mode=windows is ignored: did you mean window?; mode=full is used\n");
}

static void long_names_are_refused_and_not_cut(void **state)
{
	char text[2 * GMT_RECORDER_ITEM_BYTES] = "output=";

	(void)state;
	memset(text + strlen(text), 'x', 256);
	assert_non_null(strstr(read_options(text)->lines, "has a part of more than 255 bytes"));
	memset(text + strlen("output="), 'y', GMT_RECORDER_ITEM_BYTES);
	assert_non_null(strstr(read_options(text)->lines, "is too long; it is ignored"));
	assert_in_force(text, "output", "gpumemtrace.%e.%h.%p.gmt.gz");
}

static void hints_name_a_value_that_is_allowed(void **state)
{
	static const struct {
		const char *values, *example, *typed, *hint;
	} cases[] = {
		{ "on|off", "on", "yes", "did you mean on?" },
		{ "on|off", "on", "0", "did you mean off?" },
		{ "auto|off", "auto", "on", "did you mean auto?" },
		{ "on|off", "on", "maybe", "" },
		{ "1MiB..1EiB|none", "4GiB", "0", "did you mean none?" },
		{ "1MiB..1EiB|none", "4GiB", "4gb", "did you mean 4GB?" },
		{ "1MiB..1EiB|none", "4GiB", "4GiBB", "did you mean 4GiB?" },
		{ "1MiB..1EiB|none", "4GiB", "99999999999999GiB", "" },
		{ "1..9|1s..9s|1steps..9steps", "5", "3step", "did you mean 3steps?" },
		{ "1..9|1s..9s|1steps..9steps", "5", "3 sec", "did you mean 3s?" },
		{ "1..9|1s..9s|1steps..9steps", "5", "3m", "" },
		{ "1..9|1s..9s|1steps..9steps", "5", "10s", "the largest is 9s" },
		{ "1..512", "128", "1 2", "" },
		{ "1..512", "128", " 12 ", "did you mean 12?" },
		{ "1..512", "128", "", "" },
		{ "off|SIZE", "off", "5x", "" },
		{ "off|SIZE", "off", "5gib", "did you mean 5GiB?" },
		{ "TEXT", "x", "", "" },
	};
	char hint[GMT_OPTION_HINT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(gmt_option_value_hint(cases[i].values, cases[i].example, cases[i].typed,
							 hint),
			*cases[i].hint != 0);
		assert_string_equal(hint, cases[i].hint);
	}
}

static void a_size_with_other_text_around_it_is_refused(void **state)
{
	static const char *const good[] = { "1", "1B", "1 B", "1K", "1k", "1KB", "1KiB", "1 GiB",
		"15EiB" };
	static const char *const bad[] = { "", " 1", "1 ", "1  B", "1GiBB", "1iB", "1BB", "1GiB ", "-1",
		"+1", "16EiB", "0x10", "1e3", "18446744073709551616" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(gmt_text_parse_size(good[i], &bytes));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (gmt_text_parse_size(bad[i], &bytes))
			fail_msg("`%s`", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_ranks_has_its_ranges_and_every_nth_of_them),
		cmocka_unit_test(every_default_is_a_valid_value),
		cmocka_unit_test(valid_options_cause_no_message),
		cmocka_unit_test(a_refused_option_is_reported_with_a_hint_and_the_value_in_force),
		cmocka_unit_test(a_refused_option_changes_nothing),
		cmocka_unit_test(the_last_of_two_values_counts_and_is_reported),
		cmocka_unit_test(a_refused_mode_causes_no_message_about_the_window),
		cmocka_unit_test(long_names_are_refused_and_not_cut),
		cmocka_unit_test(hints_name_a_value_that_is_allowed),
		cmocka_unit_test(a_size_with_other_text_around_it_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
