/* SPDX-License-Identifier: MIT */
/* Steps of evaluation and inference, found from the stacks of a module's allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "synthetic_recording.h"
#include "temporary_file.h"

static struct recording recording;
static uint32_t layers[5], head, loss, outside, main_loop, training;

/*
 * Returns the stack of a module's call: the frame inside of the module, and the program's calling
 * line.
 */
static uint32_t call(const char *inside, const char *line)
{
	char frames[512];

	snprintf(frames, sizeof(frames), "%s\n" MODULE_FRAME "\n%s", inside, line);
	return recording_stack(&recording, frames);
}

static void begin(void)
{
	static const char *const functions[] = {
		"/me/net.py:1 first",
		"/me/net.py:2 second",
		"/me/net.py:3 third",
		"/me/net.py:4 fourth",
		"/me/net.py:5 setup",
	};

	recording_begin(&recording, path);
	for (size_t i = 0; i < 5; i++)
		layers[i] = call(functions[i], "/me/eval.py:10 evaluate");
	head = call("/me/net.py:9 head", "/me/eval.py:10 evaluate");
	loss = recording_stack(&recording,
		TORCH_FOLDER "/nn/modules/loss.py:5 forward\n" MODULE_FRAME "\n/me/eval.py:11 evaluate");
	training = call("/me/net.py:1 first", "/me/train.py:20 train");
	outside = recording_stack(&recording, "/me/eval.py:12 evaluate");
	main_loop = recording_stack(&recording, "/me/train.py:30 train");
}

static void allocate(uint32_t stack, uint64_t size_bytes)
{
	ALLOC(&recording, .size_bytes = size_bytes, .stack = stack);
}

/* Returns the number of calls. Checks that they are the only steps. */
static size_t calls(void)
{
	size_t count;

	recording_read(&recording);
	count = recording.timeline.series_count ? recording.timeline.series[0].steps.count : 0;
	if (count)
		assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_MODULE_CALLS);
	recording_end(&recording);
	return count;
}

static void consecutive_calls_are_separated_by_their_repeating_pattern(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 12; i++)
		for (size_t layer = 0; layer < 4; layer++)
			allocate(layers[layer], 1024 << layer);
	assert_int_equal(calls(), 12);
}

static void equal_layers_before_a_head_are_one_call(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 7; i++) {
		for (size_t layer = 0; layer < 6; layer++)
			allocate(layers[0], 1024);
		allocate(head, 512);
	}
	assert_int_equal(calls(), 7);
}

/*
 * Calls `count` equal layers. Each frees the result of the layer before. The caller holds each
 * result until the next.
 */
static void call_equal_layers(int count, uint64_t *result)
{
	uint64_t before = 0, made = 0;

	for (int i = 0; i < count; i++) {
		made = ALLOC(&recording, .size_bytes = 1024, .stack = layers[0]);
		if (before)
			recording_free(&recording, GMT_LAYER_TORCH, before, 1024);
		before = made;
	}
	if (*result)
		recording_free(&recording, GMT_LAYER_TORCH, *result, 1024);
	*result = made;
}

static void equal_layers_without_a_head_are_one_call_by_their_frees(void **state)
{
	uint64_t result = 0;

	(void)state;
	begin();
	for (int i = 0; i < 15; i++)
		call_equal_layers(12, &result);
	assert_int_equal(calls(), 15);
}

/* Only the program's calling line allocates, so lines do not go back. */
static void equal_layers_are_one_call_if_the_caller_allocates_between_calls(void **state)
{
	uint32_t copy;

	(void)state;
	begin();
	copy = recording_stack(&recording, TORCH_FOLDER "/_tensor.py:1 clone\n/me/eval.py:10 evaluate");
	for (int i = 0; i < 9; i++) {
		for (int layer = 0; layer < 6; layer++)
			allocate(layers[0], 1024);
		allocate(copy, 512);
	}
	assert_int_equal(calls(), 9);
}

static void a_helper_that_fills_a_cache_does_not_count(void **state)
{
	uint32_t helper;

	(void)state;
	begin();
	helper = call("/me/net.py:7 embed", "/me/eval.py:10 word");
	for (int i = 0; i < 40; i++) {
		for (int word = 0; word < (i < 10 ? 5 : i % 4 == 0); word++) {
			allocate(helper, 512);
			allocate(outside, 512);
		}
		allocate(layers[0], 1024);
		allocate(outside, 512);
	}
	assert_int_equal(calls(), 40);
}

static void sizes_may_vary_from_call_to_call(void **state)
{
	(void)state;
	begin();
	for (uint64_t i = 0; i < 10; i++)
		for (size_t layer = 0; layer < 3; layer++)
			allocate(layers[layer], 1024 * (1 + i * i % 7));
	assert_int_equal(calls(), 10);
}

static void a_first_call_with_initialization_is_one_call(void **state)
{
	(void)state;
	for (int where = 0; where < 3; where++) {
		begin();
		for (int i = 0; i < 9; i++)
			for (int layer = 0; layer < 3; layer++) {
				if (!i && layer == where)
					allocate(layers[4], 1 << 20);
				allocate(layers[layer], 1024);
			}
		assert_int_equal(calls(), 9);
	}
}

static void a_first_call_of_another_size_does_not_reach_into_the_second(void **state)
{
	(void)state;
	begin();
	allocate(layers[0], 77777);
	for (int i = 0; i < 9; i++) {
		allocate(layers[1], 1024);
		allocate(layers[2], 2048);
		allocate(layers[0], 512);
	}
	recording_read(&recording);

	/* The second call begins with the fourth allocation, at 1040. */
	assert_int_equal(recording.timeline.series[0].steps.items[1].begin, 1039);
	assert_int_equal(recording.timeline.series[0].steps.count, 10);
	recording_end(&recording);
}

static void allocations_of_the_program_between_calls_separate_them(void **state)
{
	(void)state;
	begin();
	for (uint64_t i = 0; i < 8; i++) {
		allocate(layers[0], 512 + i % 3 * 512);
		allocate(layers[1 + i % 3], 512);
		allocate(outside, 512);
	}
	assert_int_equal(calls(), 8);
}

static void a_module_that_computes_a_loss_is_not_a_call(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 8; i++)
		allocate(loss, 512);
	assert_int_equal(calls(), 0);

	begin();
	for (int i = 0; i < 6; i++) {
		allocate(layers[0], 1024);
		allocate(loss, 512);
	}
	assert_int_equal(calls(), 6);
}

static void blocks_of_other_threads_do_not_separate_calls(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 6; i++) {
		allocate(layers[0], 1024);
		ALLOC(&recording, .size_bytes = 512, .stack = outside, .thread = OTHER_THREAD);
		allocate(layers[1], 2048);
	}
	assert_int_equal(calls(), 6);
}

/* Adds `steps` of training. After every `every`th step follows an evaluation of 5 calls. */
static void train(int steps, int every)
{
	for (int i = 1; i <= steps; i++) {
		allocate(training, 4096);
		allocate(main_loop, 512);
		MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
		for (int batch = 0; i % every == 0 && batch < 5; batch++) {
			allocate(layers[0], 1024);
			allocate(layers[1], 2048);
		}
	}
}

static void evaluation_between_training_steps_has_its_own_counter(void **state)
{
	(void)state;
	begin();
	train(20, 4);
	recording_read(&recording);
	assert_int_equal(recording.timeline.series_count, 2);
	assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_OPTIMIZER);
	assert_int_equal(recording.timeline.series[0].steps.count, 20);
	assert_int_equal(recording.timeline.series[1].source, GMT_STEPS_MODULE_CALLS);
	assert_int_equal(recording.timeline.series[1].steps.count, 25);
	recording_end(&recording);
}

static void a_line_that_runs_in_half_of_the_steps_is_training(void **state)
{
	(void)state;
	for (int every_second = 9; every_second <= 10; every_second++) {
		begin();
		for (int i = 0; i < 20; i++) {
			if (i % 2 && i / 2 < every_second)
				allocate(layers[0], 1024);
			allocate(training, 4096);
			MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
		}
		recording_read(&recording);
		assert_int_equal(recording.timeline.series_count, every_second == 10 ? 1 : 2);
		recording_end(&recording);
	}
}

static void a_call_ends_with_its_training_step(void **state)
{
	uint32_t step;

	(void)state;
	begin();
	train(20, 4);
	recording_read(&recording);
	for (size_t i = 0; i < recording.timeline.series[1].steps.count; i++) {
		const struct gmt_step *row = &recording.timeline.series[1].steps.items[i];

		assert_true(row->begin < row->end);
		if (i)
			assert_true(row[-1].end <= row->begin);
		if (gmt_series_find(&recording.timeline.series[0], row->begin + 1, &step))
			assert_true(row->end <= recording.timeline.series[0].steps.items[step].end);
	}
	recording_end(&recording);
}

static void with_marks_of_the_program_calls_are_not_counted(void **state)
{
	(void)state;
	begin();
	MARK(&recording, STEP, PROGRAM, "");
	for (int i = 0; i < 8; i++)
		allocate(layers[0], 1024);
	recording_read(&recording);
	assert_int_equal(recording.timeline.series_count, 1);
	assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_PROGRAM);
	recording_end(&recording);
}

static void after_the_end_of_the_work_there_are_no_calls(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 6; i++) {
		allocate(layers[0], 1024);
		if (i == 3)
			MARK(&recording, TEARDOWN, INTERPRETER);
	}
	assert_int_equal(calls(), 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

static void a_lookup_of_a_step_does_not_depend_on_the_previous_lookup(void **state)
{
	struct gmt_step steps[] = {
		{ .begin = 0, .end = 10 },
		{ .begin = 10, .end = 20 },
		{ .begin = 25, .end = 30 },
		{ .begin = 30, .end = 40 },
	};
	struct gmt_step_series series = { .steps = { steps, 4, 4 } };

	(void)state;
	for (uint64_t before = 0; before < 50; before++)
		for (uint64_t stamp = 0; stamp < 50; stamp++) {
			uint32_t expected, step = 0;
			bool is_in = gmt_series_find(&series, stamp, &expected);

			gmt_series_find_next(&series, before, &step);
			assert_int_equal(gmt_series_find_next(&series, stamp, &step), is_in);
			assert_int_equal(step, expected);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lookup_of_a_step_does_not_depend_on_the_previous_lookup),
		TEST(consecutive_calls_are_separated_by_their_repeating_pattern),
		TEST(equal_layers_before_a_head_are_one_call),
		TEST(equal_layers_without_a_head_are_one_call_by_their_frees),
		TEST(equal_layers_are_one_call_if_the_caller_allocates_between_calls),
		TEST(a_helper_that_fills_a_cache_does_not_count),
		TEST(sizes_may_vary_from_call_to_call),
		TEST(a_first_call_with_initialization_is_one_call),
		TEST(a_first_call_of_another_size_does_not_reach_into_the_second),
		TEST(allocations_of_the_program_between_calls_separate_them),
		TEST(a_module_that_computes_a_loss_is_not_a_call),
		TEST(blocks_of_other_threads_do_not_separate_calls),
		TEST(evaluation_between_training_steps_has_its_own_counter),
		TEST(a_line_that_runs_in_half_of_the_steps_is_training),
		TEST(a_call_ends_with_its_training_step),
		TEST(with_marks_of_the_program_calls_are_not_counted),
		TEST(after_the_end_of_the_work_there_are_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
