/* SPDX-License-Identifier: MIT */
/*
 * Steps of programs without marks, optimizers and modules, found from lines, patterns and numbers
 * of allocations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "synthetic_recording.h"
#include "temporary_file.h"

static struct recording recording;
static uint64_t kept;

static uint32_t at(const char *frames)
{
	return recording_stack(&recording, frames);
}

static uint32_t line(unsigned number)
{
	char frames[80];

	snprintf(frames, sizeof(frames), "/me/serve.py:%u main", number);
	return at(frames);
}

/* Allocates a block with this stack and frees it at once. */
static void use(uint32_t stack)
{
	recording_free(&recording, GMT_LAYER_TORCH,
		ALLOC(&recording, .size_bytes = 1024, .stack = stack), 1024);
}

static void keep(uint32_t stack)
{
	ALLOC(&recording, .size_bytes = 512, .stack = stack);
	kept++;
}

static void begin(void)
{
	kept = 0;
	recording_begin(&recording, path);
}

/* Returns the number of steps of that source. 0: other steps, or no steps. */
static size_t steps(enum gmt_step_source source)
{
	size_t count;

	recording_read(&recording);
	count = recording.timeline.series_count && recording.timeline.series[0].source == source
		? recording.timeline.series[0].steps.count
		: 0;
	recording_end(&recording);
	return count;
}

static void a_pass_begins_where_the_line_number_falls(void **state)
{
	(void)state;
	begin();
	use(line(3));
	for (int i = 0; i < 20; i++) {
		use(line(10));
		use(line(11));
		keep(line(12));
	}
	recording_read(&recording);
	assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_LOOP);
	assert_int_equal(recording.timeline.series[0].steps.count, 20);
	assert_string_equal(recording.timeline.series[0].name, "serve.py:10");
	/* The steps lie next to each other. */
	for (size_t i = 1; i < 20; i++)
		assert_int_equal(recording.timeline.series[0].steps.items[i].begin,
			recording.timeline.series[0].steps.items[i - 1].end);
	recording_end(&recording);
}

static void a_loop_over_tokens_is_inside_the_loop_over_requests(void **state)
{
	(void)state;
	begin();
	for (int request = 0; request < 20; request++) {
		use(line(10));
		for (int token = 0; token < 3 + request % 5; token++) {
			use(line(12));
			use(line(13));
		}
	}
	assert_int_equal(steps(GMT_STEPS_LOOP), 20);
}

static void with_few_outer_passes_the_inner_loop_has_the_steps(void **state)
{
	(void)state;
	begin();
	for (int epoch = 0; epoch < 4; epoch++) {
		use(line(10));
		for (int batch = 0; batch < 10; batch++) {
			use(line(12));
			use(line(13));
		}
	}
	/* The first step of each epoch begins at the epoch's own line. */
	assert_int_equal(steps(GMT_STEPS_LOOP), 40);
}

static void requests_from_one_line_are_calls_of_the_serving_function(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		use(at("/me/serve.py:30 serve\n/me/serve.py:10 main"));
		use(at("/me/serve.py:31 serve\n/me/serve.py:10 main"));
	}
	assert_int_equal(steps(GMT_STEPS_LOOP), 20);
}

static void threads_of_a_pool_share_a_loop(void **state)
{
	uint32_t first, second;

	(void)state;
	begin();
	first = at("/me/serve.py:30 serve\n/lib/threading.py:10 run");
	second = at("/me/serve.py:31 serve\n/lib/threading.py:10 run");
	for (int i = 0; i < 10; i++)
		for (int half = 0; half < 2; half++)
			for (uint32_t thread = MAIN_THREAD; thread <= OTHER_THREAD; thread += 2)
				recording_free(&recording, GMT_LAYER_TORCH,
					ALLOC(&recording, .size_bytes = 512, .stack = half ? second : first,
						.thread = thread),
					512);
	assert_int_equal(steps(GMT_STEPS_LOOP), 2 * 10);
}

static void an_expression_over_several_lines_is_one_pass(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		use(at("/me/serve.py:50 embed\n/me/serve.py:11 main"));
		use(at("/me/serve.py:60 add\n/me/serve.py:10 main"));
		use(at("/me/serve.py:50 embed\n/me/serve.py:12 main"));
		use(at("/me/serve.py:61 multiply\n/me/serve.py:10 main"));
	}
	assert_int_equal(steps(GMT_STEPS_LOOP), 20);
}

static void a_pass_that_ends_early_is_a_pass(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 30; i++) {
		use(line(10));
		if (i % 3 != 2)
			use(line(12));
	}
	assert_int_equal(steps(GMT_STEPS_LOOP), 30);
}

static void a_loop_that_only_initializes_is_not_counted(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 30; i++) {
		use(line(4));
		keep(line(5));
	}
	for (int i = 0; i < 60; i++)
		use(line(20));
	assert_int_equal(steps(GMT_STEPS_LOOP), 0);
}

static void equal_layers_are_one_call(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 20; i++) {
		use(line(10));
		for (int layer = 0; layer < 12; layer++)
			use(at("/me/net.py:1 forward\n" MODULE_FRAME "\n/me/net.py:5 forward\n" MODULE_FRAME
				   "\n/me/serve.py:11 main"));
	}
	assert_int_equal(steps(GMT_STEPS_LOOP), 20);
}

static void a_program_that_frees_little_has_no_steps_but_a_reason(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 40; i++) {
		keep(line(10));
		keep(line(11));
		keep(line(12));
		if (i % 2)
			use(line(13));
	}
	recording_read(&recording);
	assert_int_equal(recording.timeline.series_count, 0);
	assert_non_null(strstr(recording.timeline.why_no_steps,
		"frees less than a quarter of its blocks"));
	recording_end(&recording);
}

static void requests_that_repeat_in_one_line_are_a_pattern(void **state)
{
	uint32_t stacks[3];

	(void)state;
	begin();
	stacks[0] = at("/lib/array.py:1 zeros\n/me/serve.py:10 main");
	stacks[1] = at("/lib/other.py:2 add\n/me/serve.py:10 main");
	stacks[2] = at("/lib/third.py:3 copy\n/me/serve.py:10 main");
	for (int i = 0; i < 15; i++)
		for (int j = 0; j < 3; j++)
			use(stacks[j]);
	assert_int_equal(steps(GMT_STEPS_PATTERN), 15);
}

static void a_pattern_may_be_interrupted_now_and_then(void **state)
{
	uint32_t stacks[4];

	(void)state;
	for (unsigned every = 1; every <= 12; every += 11) {
		begin();
		stacks[0] = at("/lib/array.py:1 zeros\n/me/serve.py:10 main");
		stacks[1] = at("/lib/other.py:2 add\n/me/serve.py:10 main");
		stacks[2] = at("/lib/third.py:3 copy\n/me/serve.py:10 main");
		stacks[3] = at("/lib/mean.py:4 mean\n/me/serve.py:10 main");
		for (unsigned i = 0; i < 42; i++) {
			for (int j = 0; j < 3; j++)
				use(stacks[j]);
			if (i % every == 0 && i < 30)
				use(stacks[3]);
		}
		/* One of ten allocations may differ. */
		assert_int_equal(steps(GMT_STEPS_PATTERN), every == 12 ? 42 : 0);
	}
}

static void without_a_pattern_requests_are_counted(void **state)
{
	uint32_t stacks[3];
	unsigned random = 1;

	(void)state;
	for (int count = 3200; count >= 3199; count--) {
		begin();
		stacks[0] = at("/lib/array.py:1 zeros\n/me/serve.py:10 main");
		stacks[1] = at("/lib/other.py:2 add\n/me/serve.py:10 main");
		stacks[2] = at("/lib/third.py:3 copy\n/me/serve.py:10 main");
		for (int i = 0; i < count; i++) {
			random = random * 1103515245 + 12345;
			use(stacks[(random >> 16) % 3]);
		}
		assert_int_equal(steps(GMT_STEPS_ALLOCATIONS), count == 3200 ? 64 : 0);
	}
}

/*
 * Judges a program that makes a model, then passes that each keep a block. At the end it frees the
 * blocks, and the model first or last.
 */
static enum gmt_leak_reason reason_of_an_ending(bool is_model_first)
{
	uint64_t blocks[60], model;
	enum gmt_leak_reason reason;

	begin();
	model = ALLOC(&recording, .size_bytes = 1 << 20, .stack = at("/me/serve.py:3 main"));
	for (int i = 0; i < 60; i++) {
		use(line(10));
		blocks[i] = ALLOC(&recording, .size_bytes = 512, .stack = line(11));
		use(line(12));
	}
	if (is_model_first)
		recording_free(&recording, GMT_LAYER_TORCH, model, 1 << 20);
	for (int i = 0; i < 60; i++)
		recording_free(&recording, GMT_LAYER_TORCH, blocks[i], 512);
	if (!is_model_first)
		recording_free(&recording, GMT_LAYER_TORCH, model, 1 << 20);
	recording_judge(&recording, GMT_REPLAY_TO_END, NULL);
	assert_int_equal(recording.leaks.rows.count, 1);
	assert_int_equal(recording.leaks.rows.items[0].definition, GMT_LEAK_GROWTH);
	reason = recording.leaks.rows.items[0].reason;
	recording_end(&recording);
	return reason;
}

static void growth_that_is_freed_before_the_model_may_belong_to_one_request(void **state)
{
	(void)state;
	assert_int_equal(reason_of_an_ending(false), GMT_LEAK_REASON_FREED_FIRST);
	assert_int_equal(reason_of_an_ending(true), GMT_LEAK_REASON_STEADY);
}

static void memory_from_before_the_steps_does_not_hide_a_leak(void **state)
{
	uint64_t model;

	(void)state;
	begin();
	/* One line of a helper function makes all blocks. */
	model = ALLOC(&recording, .size_bytes = 1 << 20,
		.stack = at("/me/serve.py:50 empty\n/me/serve.py:3 main"), .layer = GMT_LAYER_CUDA);
	for (int i = 0; i < 60; i++) {
		uint64_t scratch =
			ALLOC(&recording, .size_bytes = 4096, .stack = line(10), .layer = GMT_LAYER_CUDA);

		ALLOC(&recording, .size_bytes = 512,
			.stack = at("/me/serve.py:50 empty\n/me/serve.py:12 main"), .layer = GMT_LAYER_CUDA);
		recording_free(&recording, GMT_LAYER_CUDA, scratch, 4096);
	}
	/* The program continues, so its free of the model counts as given back. */
	recording_free(&recording, GMT_LAYER_CUDA, model, 1 << 20);
	ALLOC(&recording, .size_bytes = 512, .stack = line(30), .layer = GMT_LAYER_CUDA);
	recording_judge(&recording, GMT_REPLAY_TO_END, NULL);
	assert_int_equal(recording.leaks.rows.items[0].definition, GMT_LEAK_GROWTH);
	assert_int_equal((int)(recording.leaks.rows.items[0].bytes_per_step + 0.5), 512);
	recording_end(&recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_pass_begins_where_the_line_number_falls),
		TEST(a_loop_over_tokens_is_inside_the_loop_over_requests),
		TEST(with_few_outer_passes_the_inner_loop_has_the_steps),
		TEST(requests_from_one_line_are_calls_of_the_serving_function),
		TEST(threads_of_a_pool_share_a_loop),
		TEST(an_expression_over_several_lines_is_one_pass),
		TEST(a_pass_that_ends_early_is_a_pass),
		TEST(a_loop_that_only_initializes_is_not_counted),
		TEST(equal_layers_are_one_call),
		TEST(a_program_that_frees_little_has_no_steps_but_a_reason),
		TEST(requests_that_repeat_in_one_line_are_a_pattern),
		TEST(a_pattern_may_be_interrupted_now_and_then),
		TEST(growth_that_is_freed_before_the_model_may_belong_to_one_request),
		TEST(without_a_pattern_requests_are_counted),
		TEST(memory_from_before_the_steps_does_not_hide_a_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
