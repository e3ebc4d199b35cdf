/* SPDX-License-Identifier: MIT */
/*
 * Programs that grow and programs that only seem to grow: what definition `growth` reports, to the
 * byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/leaks/slope.h"
#include "leaking_program.h"

static void close_to(double value, double expected)
{
	assert_true(value >= expected - 1e-9 && value <= expected + 1e-9);
}

static void slopes_and_confidence_equal_theil_sen_and_mann_kendall(void **state)
{
	/*
	 * The values come from an independent implementation in Python: S and variance are 10 and 50/3,
	 * 8, 9 and 47/3, 3 and 11/3.
	 */
	static const struct {
		uint64_t values[6];
		size_t count;
		double per_step, confidence;
	} rows[] = {
		{ { 1, 2, 3, 4, 5 }, 5, 1, 0.986257 },
		{ { 1, 3, 2, 4, 5 }, 5, 1, 0.956795 },
		{ { 1, 1, 2, 3, 4 }, 5, 1, 0.978369 },
		{ { 10, 20, 60 }, 3, 25, 0.851865 },
		{ { 5, 5, 5, 5 }, 4, 0, 0 },
		{ { 9, 7, 5, 3 }, 4, -2, 0 },
		{ { 7 }, 1, 0, 0 },
		{ { 0, UINT64_C(1) << 62 }, 2, 4611686018427387904.0, 0.5 },
	};
	struct gmt_slope slope;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(gmt_slope_of(rows[i].values, rows[i].count, &slope));
		close_to(slope.per_step, rows[i].per_step);
		assert_true(slope.confidence > rows[i].confidence - 2e-6 &&
			slope.confidence < rows[i].confidence + 2e-6);
	}
	assert_true(gmt_slope_of(NULL, 0, &slope));
	close_to(slope.per_step, 0);
}

static void a_long_line_with_outliers_keeps_its_slope(void **state)
{
	uint64_t values[256];
	struct gmt_slope slope;

	(void)state;
	for (uint64_t i = 0; i < 256; i++)
		values[i] = 1000 + 512 * i + (i % 9 == 0) * 1000000;
	assert_true(gmt_slope_of(values, 256, &slope));
	close_to(slope.per_step, 512);
	assert_true(slope.confidence > 0.999);
}

static void memory_that_every_step_keeps_is_growth_to_the_byte(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		uint64_t temporary = keep(second_line, 1 << 20);

		keep(line, 1536);
		release(temporary, 1 << 20);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->definition, GMT_LEAK_GROWTH);
	close_to(leak(0)->bytes_per_step, 1536);
	assert_int_equal(leak(0)->bytes, 20 * 1536);
	assert_int_equal(leak(0)->blocks, 20);
	assert_int_equal(leak(0)->first_step, 0);
	assert_int_equal(leak(0)->steps, 16); /* the first fifth is warm-up */
	assert_int_equal(leak(0)->reason, GMT_LEAK_REASON_STEADY);
	assert_null(recording.leaks.why_growth_not_judged);
	recording_end(&recording);
}

static void attribution_gives_the_steps_that_allocated_the_remaining_blocks(void **state)
{
	uint64_t bytes = 0, blocks = 0;

	(void)state;
	begin();
	for (int i = 0; i < 32; i++) {
		if (i >= 5)
			keep(line, 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->first_step, 5);
	assert_int_equal(leak(0)->attribution.count, 16);
	for (size_t i = 0; i < 16; i++) {
		const struct gmt_leak_attribution *row = &leak(0)->attribution.items[i];

		assert_int_equal(row->first_step, 2 * i);
		assert_int_equal(row->last_step, 2 * i + 1);
		assert_int_equal(row->blocks, i < 2 ? 0 : i == 2 ? 1 : 2);
		bytes += row->bytes;
		blocks += row->blocks;
	}
	assert_int_equal(bytes, leak(0)->bytes);
	assert_int_equal(blocks, leak(0)->blocks);
	recording_end(&recording);
}

static void the_steps_until_the_device_is_full_follow_from_free_and_cached_memory(void **state)
{
	(void)state;
	begin();
	ALLOC(&recording, .size_bytes = 1 << 20, .layer = GMT_LAYER_CUDA, .stack = second_line);
	for (int i = 0; i < 20; i++) {
		keep(line, 1024);
		step();
	}
	judge_by(DEFINITION(GROWTH));
	assert_int_equal(leak_count(), 1);
	/*
	 * Free memory over 1024 bytes per step: 1 GiB less the driver's 1 MiB, plus 4096 bytes in
	 * PyTorch's cache.
	 */
	assert_int_equal(leak(0)->steps_to_oom, ((1 << 30) - (1 << 20) + 4096) / 1024);
	recording_end(&recording);
}

static void memory_allocated_only_in_the_warm_up_is_not_growth(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 50; i++) {
		if (i < 10)
			keep(line, 4096);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void a_window_of_the_last_steps_is_not_growth(void **state)
{
	uint64_t window[4] = { 0 };

	(void)state;
	begin();
	for (int i = 0; i < 40; i++) {
		if (window[i % 4])
			release(window[i % 4], 4096);
		window[i % 4] = keep(line, 4096);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void memory_that_stops_growing_or_pauses_for_long_is_not_growth(void **state)
{
	(void)state;
	for (int paused = 0; paused < 2; paused++) {
		begin();
		for (int i = 0; i < 90; i++) {
			if (paused ? i < 40 || i >= 75 : i < 60)
				keep(line, 4096);
			step();
		}
		judge();
		assert_int_equal(leak_count(), 0);
		recording_end(&recording);
	}
}

static void memory_that_every_tenth_step_keeps_is_growth(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 200; i++) {
		if (i % 10 == 0)
			keep(line, 10240);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	assert_true(leak(0)->bytes_per_step > 1000 && leak(0)->bytes_per_step < 1050);
	recording_end(&recording);
}

/* Each step replaces a block by a larger one. Both live for a moment, as in torch.cat. */
static void grow_a_block(uint32_t layer)
{
	uint64_t before = 0;

	begin();
	for (uint64_t i = 1; i <= 30; i++) {
		uint64_t larger = ALLOC(&recording, .layer = layer, .size_bytes = i * 2048, .stack = line);

		if (before)
			recording_free(&recording, layer, before, (i - 1) * 2048);
		before = larger;
		step();
	}
	judge_by(DEFINITION(GROWTH));
}

static void a_block_that_is_replaced_by_a_larger_one_is_growth(void **state)
{
	(void)state;
	grow_a_block(GMT_LAYER_CUDA);
	assert_int_equal(leak_count(), 1);
	close_to(leak(0)->bytes_per_step, 2048);
	assert_int_equal(leak(0)->blocks, 1);
	assert_true(leak(0)->replaced);
	recording_end(&recording);
}

static void a_tensor_that_is_allocated_again_and_larger_is_not_growth(void **state)
{
	(void)state;
	/* The larger block may not contain the old one: sequences may grow longer. */
	grow_a_block(GMT_LAYER_TORCH);
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void a_window_that_frees_as_much_as_it_takes_is_not_growth(void **state)
{
	uint64_t window[42] = { 0 };

	(void)state;
	begin();
	for (size_t i = 0; i < 60; i++) {
		if (i >= 42)
			release(window[i % 42], 1024);
		window[i % 42] = keep(line, 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void a_leak_that_begins_late_is_growth(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 100; i++) {
		if (i >= 60)
			keep(line, 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	close_to(leak(0)->bytes_per_step, 1024);
	assert_int_equal(leak(0)->first_step, 60);
	assert_int_equal(leak(0)->reason, GMT_LEAK_REASON_STEADY);
	recording_end(&recording);
}

static void with_varying_sizes_the_rate_follows_from_the_whole_rise(void **state)
{
	uint64_t kept = 0;

	(void)state;
	begin();
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t size_bytes = 512 * (1 + i * i % 7);

		keep(line, size_bytes);
		/* Counts the steps after the warm-up of ten steps and before the margin of six. */
		kept += i > 10 && i <= 93 ? size_bytes : 0;
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	close_to(leak(0)->bytes_per_step, (double)kept / 83);
	recording_end(&recording);
}

static void a_block_that_each_step_allocates_again_is_not_growth(void **state)
{
	(void)state;
	begin();
	for (uint64_t i = 1, before = 0; i <= 30; i++) {
		if (before)
			release(before, (i - 1) * 2048);
		before = keep(line, i * 2048);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void memory_that_a_collector_frees_now_and_then_is_not_growth(void **state)
{
	uint64_t blocks[10];

	(void)state;
	begin();
	for (int i = 0; i < 100; i++) {
		blocks[i % 10] = keep(line, 4096);
		for (int b = 0; i % 10 == 9 && b < 10; b++)
			release(blocks[b], 4096);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void stacks_of_one_line_are_one_finding_and_of_two_lines_are_two(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		keep(line, 512);
		keep(same_line, 1024);
		keep(second_line, 4096);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 2);
	close_to(leak(0)->bytes_per_step, 4096);
	assert_int_equal(leak(0)->sites, 1);
	close_to(leak(1)->bytes_per_step, 1536);
	assert_int_equal(leak(1)->sites, 2);
	assert_int_equal(leak(1)->own_line, 1);
	recording_end(&recording);
}

static void two_devices_are_two_findings(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		keep(line, 512);
		ALLOC(&recording, .size_bytes = 1024, .stack = line, .device = 1);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 2);
	assert_int_equal(leak(0)->device, 1);
	assert_int_equal(leak(1)->device, 0);
	recording_end(&recording);
}

static void with_few_or_no_steps_growth_is_not_judged_and_the_reason_is_reported(void **state)
{
	(void)state;
	for (int steps = 0; steps <= 6; steps += 3) {
		begin();
		for (int i = 0; i < steps; i++) {
			keep(line, 512);
			step();
		}
		judge();
		if (steps == 6)
			assert_null(recording.leaks.why_growth_not_judged);
		else
			assert_non_null(strstr(recording.leaks.why_growth_not_judged,
				steps ? "too few" : "marks no steps"));
		assert_int_equal(leak_count(), steps == 6);
		recording_end(&recording);
	}
}

static void the_requested_warm_up_is_left_out(void **state)
{
	struct gmt_leaks_options options = options_for(DEFINITION(GROWTH));

	(void)state;
	for (uint32_t warmup = 0; warmup <= 30; warmup += 15) {
		begin();
		for (int i = 0; i < 30; i++) {
			keep(line, 512);
			step();
		}
		options.warmup_steps = warmup;
		recording_judge(&recording, GMT_REPLAY_TO_END, &options);
		assert_int_equal(leak_count(), warmup < 30);
		if (warmup < 30)
			assert_int_equal(leak(0)->steps, 30 - warmup);
		recording_end(&recording);
	}
}

static void only_events_up_to_the_moment_count(void **state)
{
	(void)state;
	for (int moment = 0; moment < 3; moment++) {
		static const uint64_t steps[] = { 0, 10, 40 };

		begin();
		for (int i = 0; i < 40; i++) {
			keep(line, 512);
			step(); /* number i ends at 20 * (i + 1) ns */
		}
		recording_judge(&recording, 20 * steps[moment] + 5, NULL);
		assert_int_equal(recording.history.series[0].step_count, steps[moment]);
		assert_int_equal(leak_count(), moment != 0);
		if (moment)
			assert_int_equal(leak(0)->blocks, steps[moment]);
		recording_end(&recording);
	}
}

static void thousands_of_steps_give_the_same_slope_by_samples(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 3000; i++) {
		if (i % 2)
			keep(line, 1024);
		step();
	}
	judge();
	assert_int_equal(leak_count(), 1);
	close_to(leak(0)->bytes_per_step, 512);
	assert_int_equal(leak(0)->first_step, 1);
	recording_end(&recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(slopes_and_confidence_equal_theil_sen_and_mann_kendall),
		TEST(a_long_line_with_outliers_keeps_its_slope),
		TEST(memory_that_every_step_keeps_is_growth_to_the_byte),
		TEST(attribution_gives_the_steps_that_allocated_the_remaining_blocks),
		TEST(the_steps_until_the_device_is_full_follow_from_free_and_cached_memory),
		TEST(memory_allocated_only_in_the_warm_up_is_not_growth),
		TEST(a_window_of_the_last_steps_is_not_growth),
		TEST(memory_that_stops_growing_or_pauses_for_long_is_not_growth),
		TEST(memory_that_every_tenth_step_keeps_is_growth),
		TEST(a_block_that_is_replaced_by_a_larger_one_is_growth),
		TEST(a_tensor_that_is_allocated_again_and_larger_is_not_growth),
		TEST(a_window_that_frees_as_much_as_it_takes_is_not_growth),
		TEST(a_leak_that_begins_late_is_growth),
		TEST(with_varying_sizes_the_rate_follows_from_the_whole_rise),
		TEST(a_block_that_each_step_allocates_again_is_not_growth),
		TEST(memory_that_a_collector_frees_now_and_then_is_not_growth),
		TEST(stacks_of_one_line_are_one_finding_and_of_two_lines_are_two),
		TEST(two_devices_are_two_findings),
		TEST(with_few_or_no_steps_growth_is_not_judged_and_the_reason_is_reported),
		TEST(the_requested_warm_up_is_left_out),
		TEST(only_events_up_to_the_moment_count),
		TEST(thousands_of_steps_give_the_same_slope_by_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
