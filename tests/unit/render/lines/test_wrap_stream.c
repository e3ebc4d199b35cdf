/* SPDX-License-Identifier: MIT */
/*
 * Lines that are wrapped at GMT_WRAP_COLUMNS: columns of characters, cut words, and where lines
 * break.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/lines/text_columns.h"
#include "render/lines/wrap_stream.h"

#define BOLD "\033[1m"
#define NORMAL "\033[0m"

static char *written; /* what the last call of wrap wrote */

/* Writes the parts as one line, and returns what comes out. */
static const char *wrap(const char *first, const char *second, const char *third)
{
	size_t bytes;

	free(written);

	FILE *to = open_memstream(&written, &bytes), *file = gmt_wrap_stream_open(to);
	fprintf(file, "%s%s%s\n", first, second, third);
	gmt_wrap_stream_close(file, to);
	fclose(to);
	return written;
}

/* Returns `text` so many times. Holds the last two results. */
static const char *times(const char *text, size_t count)
{
	static char texts[2][4096];
	static unsigned next;
	char *at = texts[next++ % 2];

	at[0] = 0;
	for (size_t i = 0; i < count; i++)
		strcat(at, text);
	return at;
}

static size_t count(const char *text)
{
	return gmt_columns_count(text, text + strlen(text));
}

/* Returns the number of columns of the widest line. */
static size_t widest(const char *text)
{
	size_t max_columns = 0;

	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		size_t columns = gmt_columns_count(text, end);
		max_columns = columns > max_columns ? columns : max_columns;
	}
	return max_columns;
}

static void characters_take_0_1_or_2_columns(void **state)
{
	(void)state;
	assert_int_equal(count("a\u00e9\u0416\u2026"), 4);
	assert_int_equal(count("\u6f22\u5b57\ud55c\uff21"), 8); /* Chinese, Korean, a wide A */
	assert_int_equal(count("\U0001f600\u2705"), 4); /* emoji */
	assert_int_equal(count("e\u0301\u200d\ufe0f"), 1); /* marks that combine with the e */
	assert_int_equal(count(BOLD "a" NORMAL), 1);
}

static void a_front_ends_before_a_wide_character_and_after_combining_marks(void **state)
{
	static const char wide[] = "a\u6f22b", marks[] = "e\u0301\u0301x" NORMAL;

	(void)state;
	assert_ptr_equal(gmt_columns_fit(wide, wide + strlen(wide), 2), wide + 1);
	assert_ptr_equal(gmt_columns_skip(wide, wide + strlen(wide), 2), wide + 4);
	assert_ptr_equal(gmt_columns_fit(marks, marks + strlen(marks), 1), marks + 5);
	assert_ptr_equal(gmt_columns_skip(marks, marks + strlen(marks), 1), marks + 5);
	assert_ptr_equal(gmt_columns_skip(marks, marks + strlen(marks), 2), marks + 6);
}

static void wide_characters_are_cut_to_the_width_of_the_line(void **state)
{
	(void)state;
	for (size_t columns = 50; columns < 70; columns++) {
		assert_true(widest(wrap("  #0 ", times("\u6f22", columns), ".py:7 in main")) <= 120);
		assert_true(widest(wrap("  #0 /", times("\u5b57", columns), "/main.py:7 in f")) <= 120);
		assert_non_null(strstr(written, "/main.py:7 in f\n"));
	}
}

static void a_line_of_120_columns_with_marks_stays_as_it_is(void **state)
{
	const char *line = times("e\u0301", 120);

	(void)state;
	assert_int_equal(strlen(wrap("", line, "")), strlen(line) + 1);
}

static void a_word_that_is_cut_keeps_its_styles(void **state)
{
	static const char *const words[] = { "name", "/folder", "\u6f22" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		wrap("  " BOLD, times(words[i], 200), NORMAL);
		assert_true(widest(written) <= 120);
		assert_non_null(strstr(written, "..."));
		assert_non_null(strstr(written, BOLD));
		assert_non_null(strstr(written, NORMAL));
		wrap("  " BOLD, times(words[i], 200), NORMAL " after");
		assert_true(strstr(written, NORMAL) < strstr(written, "after"));
	}
}

static void a_path_that_is_cut_keeps_the_styles_of_its_front(void **state)
{
	(void)state;
	wrap("  in ", times("/folder" BOLD, 30), "/main.py:7" NORMAL " f");
	assert_non_null(strstr(written, BOLD));
	assert_non_null(strstr(written, "/main.py:7" NORMAL " f\n"));
	assert_int_equal(widest(written), 120);
}

static void a_name_that_is_longer_than_a_line_keeps_both_ends(void **state)
{
	(void)state;
	wrap("begin_", times("name_", 40), "end:7");
	assert_int_equal(strncmp(written, "begin_name_", 11), 0);
	assert_non_null(strstr(written, "_end:7\n"));
	assert_int_equal(widest(written), 120);
}

static void a_quotation_moves_to_the_next_line_as_a_whole(void **state)
{
	static const char *const texts[] = {
		"`gpumemtrace recover --all --discard`",
		"(`gpumemtrace recover --all`),",
		"'a b/a name with spaces.gmt.gz':",
		"\"my long folder\"",
		BOLD "`gpumemtrace recover --all`" NORMAL ",",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		/* The line ends at each place of the quotation. */
		for (size_t words = 75; words < 118; words++) {
			char text[200];

			snprintf(text, sizeof(text), " %s and more words, until it is too long", texts[i]);
			wrap("  note      ", times("x", words), text);
			assert_non_null(strstr(written, texts[i]));
			assert_true(widest(written) <= 120);
		}
}

static void a_quoted_path_is_cut_as_one_path(void **state)
{
	(void)state;
	wrap("  note      ", times("x", 78), " '/home/me/my long folder/x.gmt.gz'");
	assert_non_null(strstr(written, "x '.../my long folder/x.gmt.gz'\n"));
	assert_int_equal(widest(written), 120);
}

static void a_quotation_that_is_longer_than_a_line_is_broken(void **state)
{
	(void)state;
	wrap("  note      `gpumemtrace run ", times("--option ", 30), "` runs it");
	assert_true(widest(written) <= 120);
	assert_non_null(strstr(written, "gpumemtrace run --option --option"));
}

static void an_apostrophe_begins_no_quotation(void **state)
{
	(void)state;
	wrap("  note      the program's ", times("word ", 18), "the steps' end is here and here");
	assert_int_equal(strchr(written, '\n') - written > 105, 1);
}

static void a_path_in_a_command_is_not_cut(void **state)
{
	(void)state;
	wrap("  note      the file is incomplete, so run this command: `gpumemtrace recover ",
		times("/folder", 8), "/x.gmt.gz`");
	assert_null(strstr(written, "..."));
	assert_true(widest(written) <= 120);
	assert_non_null(strstr(written, "\n            `gpumemtrace recover /folder/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_take_0_1_or_2_columns),
		cmocka_unit_test(a_front_ends_before_a_wide_character_and_after_combining_marks),
		cmocka_unit_test(wide_characters_are_cut_to_the_width_of_the_line),
		cmocka_unit_test(a_line_of_120_columns_with_marks_stays_as_it_is),
		cmocka_unit_test(a_word_that_is_cut_keeps_its_styles),
		cmocka_unit_test(a_path_that_is_cut_keeps_the_styles_of_its_front),
		cmocka_unit_test(a_name_that_is_longer_than_a_line_keeps_both_ends),
		cmocka_unit_test(a_quotation_moves_to_the_next_line_as_a_whole),
		cmocka_unit_test(a_quoted_path_is_cut_as_one_path),
		cmocka_unit_test(a_quotation_that_is_longer_than_a_line_is_broken),
		cmocka_unit_test(an_apostrophe_begins_no_quotation),
		cmocka_unit_test(a_path_in_a_command_is_not_cut),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(written);
	return failed;
}
