/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../driver/settings.h"

static struct sim_settings read_with(const char *devices, const char *memory, const char *version)
{
	struct sim_settings settings;

	setenv("SIMCUDA_DEVICES", devices, 1);
	setenv("SIMCUDA_MEMORY", memory, 1);
	setenv("SIMCUDA_DRIVER_VERSION", version, 1);
	sim_settings_read(&settings);
	return settings;
}

static void expect_defaults(struct sim_settings settings)
{
	assert_int_equal(settings.device_count, 1);
	assert_int_equal(settings.capacity_bytes, (uint64_t)80 << 30);
	assert_int_equal(settings.driver_version, 13020);
}

static void sizes_may_have_a_suffix_of_either_case(void **state)
{
	(void)state;
	assert_int_equal(read_with("3", "12345678", "12040").capacity_bytes, 12345678);
	assert_int_equal(read_with("3", "3000K", "12040").capacity_bytes, 3000 << 10);
	assert_int_equal(read_with("3", "16m", "12040").capacity_bytes, 16 << 20);
	assert_int_equal(read_with("3", "2G", "12040").capacity_bytes, (uint64_t)2 << 30);
	assert_int_equal(read_with("3", "2G", "12040").device_count, 3);
	assert_int_equal(read_with("3", "2G", "12040").driver_version, 12040);
}

static void an_empty_setting_counts_as_not_set(void **state)
{
	(void)state;
	expect_defaults(read_with("", "", ""));
}

static void invalid_settings_give_the_defaults(void **state)
{
	(void)state;
	expect_defaults(read_with("-1", "lots", "13"));
	expect_defaults(read_with("17", "1", "130200"));
	expect_defaults(read_with("1x", "2GB", "13020 "));
	expect_defaults(read_with(" 2", "99999999999999999999", "1e5"));
	expect_defaults(read_with("1K", "99999999999T", "-13020"));
}

static void costs_are_zero_by_default(void **state)
{
	(void)state;
	struct sim_settings settings = read_with("1", "2G", "13020");
	assert_int_equal(settings.context_bytes, 0);
	assert_int_equal(settings.module_bytes, 0);
	assert_int_equal(settings.others_bytes, 0);
	assert_false(settings.is_module_lazy);
	assert_false(settings.is_limit_charged);
	assert_int_equal(settings.process_id, 0);
}

static void other_processes_can_use_up_to_a_whole_device(void **state)
{
	(void)state;
	setenv("SIMCUDA_OTHERS_MEMORY", "2G", 1);
	assert_int_equal(read_with("1", "2G", "13020").others_bytes, (uint64_t)2 << 30);
	assert_int_equal(read_with("1", "1G", "13020").others_bytes, 0);
	unsetenv("SIMCUDA_OTHERS_MEMORY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_may_have_a_suffix_of_either_case),
		cmocka_unit_test(an_empty_setting_counts_as_not_set),
		cmocka_unit_test(invalid_settings_give_the_defaults),
		cmocka_unit_test(costs_are_zero_by_default),
		cmocka_unit_test(other_processes_can_use_up_to_a_whole_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
