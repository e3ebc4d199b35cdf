/* SPDX-License-Identifier: MIT */
/*
 * Growth over many lines, programs whose many lines rise and fall, and lines that rise without
 * growth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "leaking_program.h"

enum { LINES = 60, STEPS = 120 };

static uint32_t lines[LINES];

static void begin_with_lines(void)
{
	begin();
	for (int i = 0; i < LINES; i++) {
		char text[64];

		snprintf(text, sizeof(text), "/me/many.py:%d place", i + 1);
		lines[i] = recording_stack(&recording, text);
	}
}

static uint32_t line_number_of(const struct gmt_leak_line *row)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(&recording.traces, row->stack, &count);

	return gmt_traces_place(&recording.traces, places[row->own_line])->line;
}

/* Each line makes blocks in two steps and so rises twice: too few rises to judge the line. */
static void spread(uint64_t size_bytes)
{
	for (int i = 0; i < STEPS; i++) {
		uint64_t temporary = keep(second_line, 1 << 20);

		keep(lines[i / 2], size_bytes);
		release(temporary, 1 << 20);
		step();
	}
}

static void growth_over_many_lines_is_found_although_no_line_grows(void **state)
{
	(void)state;
	begin_with_lines();
	spread(1024);
	judge();
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->definition, GMT_LEAK_UNEXPLAINED);
	assert_int_equal(leak(0)->layer, GMT_LAYER_TORCH);
	assert_int_equal(leak(0)->device, 0);
	assert_true(leak(0)->bytes_per_step == 1024);
	assert_int_equal(leak(0)->reason, GMT_LEAK_REASON_TOGETHER);
	assert_int_equal(leak(0)->steps, STEPS - 10);
	assert_int_equal(leak(0)->first_step, 10);
	assert_int_equal(leak(0)->stack, GMT_LEAK_NO_STACK);
	assert_null(leak(0)->hint);
	/* Leaves out the warm-up of 10 steps and the margin of 7. */
	assert_int_equal(leak(0)->bytes, (STEPS - 1 - 7 - 10) * 1024);
	assert_int_equal(leak(0)->rose_most.count, GMT_LEAK_LINES);
	for (size_t i = 0; i < GMT_LEAK_LINES; i++)
		assert_int_equal(leak(0)->rose_most.items[i].bytes, 2048);
	/* The space until the device is full: its free memory and PyTorch's cache. */
	assert_true(leak(0)->steps_to_oom != UINT64_MAX);
	recording_end(&recording);
}

static void irregular_leaks_of_many_lines_are_growth(void **state)
{
	uint32_t random = 1;

	(void)state;
	begin_with_lines();
	for (int i = 0; i < 200; i++) {
		random = random * 1103515245 + 12345;
		keep(lines[(random >> 16) % LINES], 2048);
		step();
	}
	judge();
	assert_int_equal(leak(leak_count() - 1)->definition, GMT_LEAK_UNEXPLAINED);
	/*
	 * Each of these lines levels off by itself. The report does not say so of lines in the growth.
	 */
	for (size_t i = 0; i < recording.leaks.levels_off.count; i++)
		for (size_t r = 0; r < leak(leak_count() - 1)->rose_most.count; r++)
			assert_int_not_equal(line_number_of(&recording.leaks.levels_off.items[i]),
				line_number_of(&leak(leak_count() - 1)->rose_most.items[r]));
	recording_end(&recording);
}

static void one_kept_block_a_line_is_not_growth(void **state)
{
	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		if (i % 6 == 0)
			keep(lines[i / 6], 4096);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void findings_and_unexplained_growth_add_up_to_the_whole_rise(void **state)
{
	double sum = 0, slope = 512 + 1536 + 1024;

	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		keep(line, 512);
		keep(second_line, 1536);
		keep(lines[i / 2], 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 3);
	for (size_t i = 0; i < 3; i++)
		sum += leak(i)->bytes_per_step;
	assert_true(sum > 0.99 * slope && sum < 1.01 * slope);
	assert_int_equal(leak(2)->definition, GMT_LEAK_UNEXPLAINED);
	assert_true(leak(2)->bytes_per_step == 1024);
	recording_end(&recording);
}

static void a_line_that_levels_off_does_not_hide_unexplained_growth(void **state)
{
	uint64_t window[70] = { 0 };

	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		if (window[i % 70])
			release(window[i % 70], 8192);
		window[i % 70] = keep(line, 8192);
		keep(lines[i / 2], 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->definition, GMT_LEAK_UNEXPLAINED);
	assert_true(leak(0)->bytes_per_step == 1024);
	assert_int_equal(recording.leaks.levels_off.count, 1);
	recording_end(&recording);
}

static void each_device_is_judged_separately(void **state)
{
	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		keep(lines[i / 2], 1024);
		ALLOC(&recording, .size_bytes = 2048, .stack = lines[i / 2], .device = 1);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 2);
	assert_int_equal(leak(0)->device, 1);
	assert_true(leak(0)->bytes_per_step == 2048);
	assert_int_equal(leak(1)->device, 0);
	assert_true(leak(1)->bytes_per_step == 1024);
	recording_end(&recording);
}

static void lines_that_rise_and_fall_in_turn_leave_nothing_unexplained(void **state)
{
	uint64_t window[20] = { 0 };

	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		if (window[i % 20])
			release(window[i % 20], 1024);
		window[i % 20] = keep(lines[i / 2], 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void lines_that_replace_others_leave_nothing_unexplained(void **state)
{
	uint64_t pool[STEPS];

	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++)
		pool[i] = keep(second_line, 1024 + 512 * (uint64_t)(i % 2));
	for (int i = 0; i < STEPS; i++) {
		release(pool[i], 1024 + 512 * (uint64_t)(i % 2));
		keep(lines[i / 2], 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void caches_of_many_lines_that_fill_up_leave_nothing_unexplained(void **state)
{
	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		/* Adds lines in the steps with square numbers: 0, 1, 4, 9 ... */
		for (int root = 0; root * root <= i; root++)
			if (root * root == i) {
				keep(lines[root * 2], 4096);
				keep(lines[root * 2 + 1], 4096);
			}
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void blocks_in_use_that_become_larger_are_not_growth_on_any_lines(void **state)
{
	uint64_t before = 0;

	(void)state;
	begin_with_lines();
	for (uint64_t i = 0; i < STEPS; i++) {
		if (before)
			release(before, i * 512);
		before = keep(lines[i / 2], (i + 1) * 512);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void memory_that_is_freed_during_the_work_is_not_growth(void **state)
{
	uint64_t blocks[STEPS];

	(void)state;
	begin_with_lines();
	for (int i = 0; i < STEPS; i++) {
		blocks[i] = keep(lines[i / 2], 1024);
		step();
	}
	for (int i = 0; i < STEPS; i++)
		release(blocks[i], 1024);
	keep(line, 512);
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void unexplained_growth_is_judged_with_growth_or_on_request(void **state)
{
	static const struct {
		uint32_t definitions;
		size_t growths, unexplained;
	} rows[] = {
		{ 0, 1, 1 },
		{ DEFINITION(GROWTH), 1, 1 },
		{ DEFINITION(UNEXPLAINED), 0, 1 },
		{ DEFINITION(PHASE), 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t growths = 0, unexplained = 0;

		begin_with_lines();
		for (int s = 0; s < STEPS; s++) {
			keep(line, 512);
			keep(lines[s / 2], 1024);
			step();
		}
		judge_by(rows[i].definitions);
		for (size_t l = 0; l < leak_count(); l++) {
			growths += leak(l)->definition == GMT_LEAK_GROWTH;
			unexplained += leak(l)->definition == GMT_LEAK_UNEXPLAINED;
		}
		assert_int_equal(growths, rows[i].growths);
		assert_int_equal(unexplained, rows[i].unexplained);
		recording_end(&recording);
	}
}

static void lines_that_are_freed_or_level_off_are_listed_with_their_rise(void **state)
{
	uint64_t request[100], window[30] = { 0 };

	(void)state;
	begin();
	for (int i = 0; i < 100; i++) {
		request[i] = keep(line, 4096);
		if (window[i % 30])
			release(window[i % 30], 1024);
		window[i % 30] = keep(second_line, 1024);
		step();
	}
	for (int i = 0; i < 100; i++)
		release(request[i], 4096);
	release(keep(line, 512), 512);
	judge();
	assert_int_equal(leak_count(), 0);
	/* The ten steps of warm-up made 11 of the blocks. */
	assert_int_equal(recording.leaks.given_back.count, 1);
	assert_int_equal(line_number_of(&recording.leaks.given_back.items[0]), 10);
	assert_int_equal(recording.leaks.given_back.items[0].bytes, (100 - 11) * 4096);
	assert_int_equal(recording.leaks.levels_off.count, 1);
	assert_int_equal(line_number_of(&recording.leaks.levels_off.items[0]), 20);
	assert_int_equal(recording.leaks.levels_off.items[0].bytes, (30 - 11) * 1024);
	recording_end(&recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(growth_over_many_lines_is_found_although_no_line_grows),
		TEST(irregular_leaks_of_many_lines_are_growth),
		TEST(one_kept_block_a_line_is_not_growth),
		TEST(findings_and_unexplained_growth_add_up_to_the_whole_rise),
		TEST(a_line_that_levels_off_does_not_hide_unexplained_growth),
		TEST(each_device_is_judged_separately),
		TEST(lines_that_rise_and_fall_in_turn_leave_nothing_unexplained),
		TEST(lines_that_replace_others_leave_nothing_unexplained),
		TEST(caches_of_many_lines_that_fill_up_leave_nothing_unexplained),
		TEST(blocks_in_use_that_become_larger_are_not_growth_on_any_lines),
		TEST(memory_that_is_freed_during_the_work_is_not_growth),
		TEST(unexplained_growth_is_judged_with_growth_or_on_request),
		TEST(lines_that_are_freed_or_level_off_are_listed_with_their_rise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
