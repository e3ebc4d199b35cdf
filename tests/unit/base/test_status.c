/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/status.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_error_is_cut_to_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
