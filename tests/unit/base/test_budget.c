/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/budget.h"

static void a_budget_begins_with_the_file_and_follows_its_size(void **state)
{
	(void)state;
	assert_true(gmt_budget_spend_work(UINT64_MAX / 2, GMT_BUDGET_LAUNCHES));
	gmt_budget_begin();
	assert_false(gmt_budget_spend_work(UINT64_C(1) << 40, GMT_BUDGET_LAUNCHES));
	assert_true(gmt_budget_has_cut_results());
	gmt_budget_add(UINT64_C(1) << 40);
	assert_true(gmt_budget_spend_work(UINT64_C(1) << 40, GMT_BUDGET_LAUNCHES));
	gmt_budget_set_factor(0);
	gmt_budget_begin();
	assert_true(gmt_budget_spend_work(UINT64_MAX, GMT_BUDGET_LAUNCHES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_begins_with_the_file_and_follows_its_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
