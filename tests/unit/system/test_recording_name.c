/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "system/recording_name.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_added_before_the_suffix),
		cmocka_unit_test(names_of_recordings_are_recognized),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
