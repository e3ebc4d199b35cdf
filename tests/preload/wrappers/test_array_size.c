/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wrappers/array_size.h"

enum {
	FLOAT = 0x20,
	BC1 = 0x91,
	NV12 = 0xb0,
	SNORM_INT16X4 = 0xcb,
	LAYERED = 1,
	CUBEMAP = 4,
	SPARSE = 0x40
};

static uint64_t bytes(uint64_t width, uint64_t height, uint64_t depth, unsigned channels,
	unsigned format, unsigned flags)
{
	return gmt_array_bytes(&(struct gmt_array_shape){
		width, height, depth, channels, format, flags });
}

static uint64_t mipmap(uint64_t width, uint64_t height, uint64_t depth, unsigned flags,
	unsigned levels)
{
	return gmt_mipmap_bytes(&(struct gmt_array_shape){ width, height, depth, 1, FLOAT, flags },
		levels);
}

static void an_array_takes_the_bytes_of_its_elements(void **state)
{
	(void)state;
	assert_int_equal(bytes(100, 0, 0, 1, FLOAT, 0), 400);
	assert_int_equal(bytes(100, 10, 0, 2, FLOAT, 0), 8000);
	assert_int_equal(bytes(100, 10, 3, 4, FLOAT, 0), 48000);
	assert_int_equal(bytes(10, 10, 0, 4, SNORM_INT16X4, 0), 800);
}

static void compressed_and_planar_formats_are_counted_in_blocks(void **state)
{
	(void)state;
	assert_int_equal(bytes(16, 16, 0, 4, BC1, 0), 16 * 8);
	assert_int_equal(bytes(17, 1, 0, 4, BC1, 0), 5 * 8);
	assert_int_equal(bytes(640, 480, 0, 3, NV12, 0), 640 * 480 * 3 / 2);
}

static void a_sparse_array_takes_nothing_before_it_is_mapped(void **state)
{
	(void)state;
	assert_int_equal(bytes(100, 10, 0, 1, FLOAT, SPARSE), 0);
}

static void unknown_formats_and_huge_arrays_do_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(bytes(100, 10, 0, 1, 0x77, 0), 0);
	assert_true(bytes(UINT64_MAX, UINT64_MAX, 2, 4, FLOAT, 0) == UINT64_MAX);
}

static void levels_halve_down_to_one_and_layers_keep_their_number(void **state)
{
	(void)state;
	assert_int_equal(mipmap(8, 8, 0, 0, 3), 4 * (64 + 16 + 4));
	assert_int_equal(mipmap(8, 8, 0, 0, 99), 4 * (64 + 16 + 4 + 1));
	assert_int_equal(mipmap(8, 8, 0, 0, 0), 4 * 64);
	assert_int_equal(mipmap(4, 4, 4, 0, 2), 4 * (64 + 8));
	assert_int_equal(mipmap(4, 4, 6, LAYERED, 2), 4 * 6 * (16 + 4));
	assert_int_equal(mipmap(4, 4, 6, CUBEMAP, 2), 4 * 6 * (16 + 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_takes_the_bytes_of_its_elements),
		cmocka_unit_test(compressed_and_planar_formats_are_counted_in_blocks),
		cmocka_unit_test(a_sparse_array_takes_nothing_before_it_is_mapped),
		cmocka_unit_test(unknown_formats_and_huge_arrays_do_not_overflow),
		cmocka_unit_test(levels_halve_down_to_one_and_layers_keep_their_number),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
