/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/safe_text.h"
#include "base/safe_stream.h"

enum { TEXT_BYTES = 200000 };

/* Opens a stream to a file in memory. *ret_fd reads the file. */
static FILE *open_stream(int *ret_fd)
{
	FILE *file;

	*ret_fd = memfd_create("test", 0);
	assert_true(*ret_fd >= 0);
	file = gmt_safe_stream_open(dup(*ret_fd));
	assert_non_null(file);
	return file;
}

/* Copies the file's text, with a NUL at its end, and closes `fd`. Returns the length. */
static size_t read_and_close(int fd, char *ret_text, size_t bytes)
{
	ssize_t got = pread(fd, ret_text, bytes - 1, 0);

	assert_true(got >= 0);
	ret_text[got] = 0;
	close(fd);
	return (size_t)got;
}

static void check(const char *text, const char *expected, bool has_styles)
{
	char got[256];
	int fd;
	FILE *file = open_stream(&fd);

	if (has_styles)
		gmt_safe_stream_allow_styles(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	read_and_close(fd, got, sizeof(got));
	assert_string_equal(got, expected);
}

static void terminal_commands_are_removed(void **state)
{
	(void)state;
	check("plain text, two\nlines\n", "plain text, two\nlines\n", false);
	check("h\xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80", "h\xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80",
		false);
	check("\033[2J\033]0;t\a", "?[2J?]0;t?", false);
	check("a\rb\tc\bd\x7f", "a?b?c?d?", false);
	check("\x9b"
		  "31m \xc2\x9b"
		  "31m",
		"?31m ?31m", false);
	check("\xe2\x80\xae"
		  "gnp \xe2\x81\xa6 \xe2\x80\xa8 \xef\xbb\xbf",
		"?gnp ? ? ?", false);
	check("\xc0\x9b \xed\xa0\x80 \xf4\x90\x80\x80 \xff", "?? ??? ???? ?", false);
	check("cut \xe2\x98", "cut ??", false);
}

static void only_styles_pass_if_they_are_allowed(void **state)
{
	(void)state;
	check("\033[1mbold\033[0m \033[2m \033[33m", "?[1mbold?[0m ?[2m ?[33m", false);
	check("\033[1mbold\033[0m \033[2m \033[33m", "\033[1mbold\033[0m \033[2m \033[33m", true);
	check("\033[31m \033[2J \033]8;; \033[3", "?[31m ?[2J ?]8;; ?[3", true);
	check("\033", "?", true);
	check("\033\033[1m", "?\033[1m", true);
}

/* Makes the whole text safe in the slow and obvious way. */
static size_t make_safe(const unsigned char *text, size_t length, char *ret_safe)
{
	size_t safe = 0;

	for (size_t at = 0; at < length;) {
		size_t skip = 1,
			   taken =
				   text[at] == '\n' ? 1 : gmt_safe_character_length(text + at, length - at, &skip);

		if (taken)
			memcpy(ret_safe + safe, text + at, taken);
		else
			ret_safe[safe] = '?';
		safe += taken ? taken : 1;
		at += taken ? taken : skip;
	}
	return safe;
}

static unsigned char some_byte(void)
{
	static const unsigned char begins[] = { 0xc2, 0xc3, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0x1b,
		0x9b, 0xff, '\n' };

	switch (rand() % 4) {
	case 0:
		return begins[(size_t)rand() % sizeof(begins)];
	case 1:
		return (unsigned char)(0x80 + rand() % 0x40);
	case 2:
		return (unsigned char)rand();
	default:
		return (unsigned char)('a' + rand() % 26);
	}
}

static void the_output_does_not_depend_on_how_writes_are_split(void **state)
{
	static unsigned char text[TEXT_BYTES];
	static char expected[TEXT_BYTES], got[TEXT_BYTES];

	(void)state;
	srand(1);
	for (int round = 0; round < 60; round++) {
		size_t length = round < 50 ? (size_t)rand() % 3000 : TEXT_BYTES - 1, safe;
		int fd;
		FILE *file = open_stream(&fd);

		/* Half of the texts have mostly plain bytes, as real texts have. */
		for (size_t i = 0; i < length; i++)
			text[i] = round % 2 && rand() % 50 ? 'x' : some_byte();
		for (size_t at = 0, part; at < length; at += part) {
			part = round % 3 ? (size_t)rand() % 9 + 1 : (size_t)rand() % TEXT_BYTES + 1;
			part = part < length - at ? part : length - at;
			assert_int_equal(fwrite(text + at, 1, part, file), part);
			if (rand() % 2)
				fflush(file);
		}
		assert_int_equal(fclose(file), 0);
		safe = make_safe(text, length, expected);
		assert_int_equal(read_and_close(fd, got, sizeof(got)), safe);
		assert_memory_equal(got, expected, safe);
	}
}

static void a_write_error_is_reported_with_its_reason(void **state)
{
	FILE *file = gmt_safe_stream_open(open("/dev/full", O_WRONLY));

	(void)state;
	assert_non_null(file);
	fputs("text", file);
	errno = 0;
	assert_int_equal(fclose(file), EOF);
	assert_int_equal(errno, ENOSPC);

	/* fclose also fails when the error came long before the end. */
	file = gmt_safe_stream_open(open("/dev/full", O_WRONLY));
	assert_non_null(file);
	fputs("text", file);
	assert_int_equal(fflush(file), EOF);
	assert_true(ferror(file));
	errno = 0;
	assert_int_equal(fclose(file), EOF);
	assert_int_equal(errno, ENOSPC);
}

static void a_raw_stream_writes_each_byte_and_keeps_the_reason_of_an_error(void **state)
{
	static const char bytes[] = "\033[2J\xff\xe2\x98<b>";
	char got[64];
	int fd = memfd_create("test", 0);
	FILE *file = gmt_safe_stream_open_raw(dup(fd));

	(void)state;
	fputs(bytes, file);
	assert_int_equal(fclose(file), 0);
	read_and_close(fd, got, sizeof(got));
	assert_string_equal(got, bytes);

	/* The write that fails is not the last: nothing is left to write at the end. */
	file = gmt_safe_stream_open_raw(open("/dev/full", O_WRONLY));
	fputs(bytes, file);
	assert_int_not_equal(fflush(file), 0);
	errno = 0;
	assert_int_not_equal(fclose(file), 0);
	assert_int_equal(errno, ENOSPC);
}

static void a_stream_has_the_descriptor_of_its_file(void **state)
{
	int fd = open("/dev/null", O_WRONLY);
	FILE *file = gmt_safe_stream_open(fd);

	(void)state;
	assert_int_equal(gmt_safe_stream_descriptor(file), fd);
	assert_int_equal(gmt_safe_stream_descriptor(stdin), -1);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal_commands_are_removed),
		cmocka_unit_test(only_styles_pass_if_they_are_allowed),
		cmocka_unit_test(the_output_does_not_depend_on_how_writes_are_split),
		cmocka_unit_test(a_write_error_is_reported_with_its_reason),
		cmocka_unit_test(a_raw_stream_writes_each_byte_and_keeps_the_reason_of_an_error),
		cmocka_unit_test(a_stream_has_the_descriptor_of_its_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
