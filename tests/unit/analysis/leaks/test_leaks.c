/* SPDX-License-Identifier: MIT */
/* Leaks by the definitions phase, age and exit in made-up programs. The tests know every block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "leaking_program.h"

static void push(const char *name)
{
	MARK(&recording, PUSH, PROGRAM, name);
}

static void pop(void)
{
	MARK(&recording, POP, PROGRAM);
}

static void blocks_that_outlive_their_phase_are_found_except_the_newest_of_a_line(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 3; i++) {
		push("evaluate");
		keep(line, 4096);
		pop();
	}
	push("evaluate");
	keep(second_line,
		100); /* the only block of its line: the next evaluation would not replace it */
	pop();
	keep(line, 7); /* outside of all phases */
	judge();
	assert_int_equal(leak_count(), 2);
	assert_int_equal(leak(0)->definition, GMT_LEAK_PHASE);
	assert_string_equal(leak(0)->phase, "evaluate");
	/* The block outside of all phases came after the last phase. */
	assert_int_equal(leak(0)->blocks, 2);
	assert_int_equal(leak(1)->blocks, 1);
	recording_end(&recording);
}

static void an_open_phase_is_not_judged(void **state)
{
	(void)state;
	begin();
	push("evaluate");       /* at 10 ns */
	keep(line, 4096);
	pop();                  /* at 30 ns */
	push("evaluate");
	keep(second_line, 100); /* at 50 ns */
	pop();
	recording_judge(&recording, 55, NULL);
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->bytes, 4096);
	recording_end(&recording);

	begin();
	push("open");
	keep(line, 4096);
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);

	begin();
	push("outer");
	keep(line, 4096);       /* at 20 ns */
	push("inner");
	pop(); /* at 40 ns: the last phase that has ended by 45 */
	pop();
	recording_judge(&recording, 45, NULL);
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void an_open_phase_does_not_delay_the_judgement_of_others(void **state)
{
	uint64_t block;

	(void)state;
	begin();
	push("open");
	push("evaluate");
	block = keep(line, 4096);
	pop();
	keep(second_line, 1);
	release(block, 4096);
	judge();
	assert_int_equal(leak_count(), 1);
	assert_string_equal(leak(0)->phase, "evaluate");
	recording_end(&recording);
}

static void each_phase_that_a_line_left_something_from_is_a_finding(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 6; i++) {
		push(i % 3 ? "odd" : "even");
		keep(line, i % 3 ? 100 : 1000);
		pop();
	}
	judge();
	assert_int_equal(leak_count(), 2);
	assert_string_equal(leak(0)->phase, "even");
	assert_int_equal(leak(0)->bytes, 2000);
	assert_string_equal(leak(1)->phase, "odd");
	assert_int_equal(leak(1)->bytes, 300); /* the newest of four does not count */
	recording_end(&recording);
}

static void parameters_that_outlive_a_phase_are_not_leaks(void **state)
{
	uint32_t build;

	(void)state;
	begin();
	build = recording_stack(&recording,
		TORCH_FOLDER "/nn/modules/linear.py:9 Linear.__init__\n/me/net.py:1 build");
	push("setup");
	keep(build, 4096);
	pop();
	judge();
	assert_int_equal(leak_count(), 0);
	recording_end(&recording);
}

static void blocks_older_than_the_limit_are_found_by_age(void **state)
{
	struct gmt_leaks_options options = options_for(DEFINITION(AGE));

	(void)state;
	for (uint32_t age = 0; age < 4; age++) {
		begin();
		for (int i = 0; i < 4; i++) {
			keep(line, 100);
			step();
		}
		options.age_steps = age;
		recording_judge(&recording, GMT_REPLAY_TO_END, &options);
		/* The first step's block lived through 4 steps, the last step's block through 1. */
		assert_int_equal(leak(0)->definition, GMT_LEAK_AGE);
		assert_int_equal(leak(0)->blocks, 4 - age);
		recording_end(&recording);
	}
}

static void the_age_of_a_block_ends_with_the_work_of_the_program(void **state)
{
	struct gmt_leaks_options options = options_for(DEFINITION(AGE));

	(void)state;
	begin();
	keep(line, 100);                         /* at 10 ns */
	keep(line, 100);                         /* at 20 ns */
	MARK(&recording, TEARDOWN, INTERPRETER); /* at 30 ns */
	recording.stamp += 100000;
	options.age_ns = 15;
	recording_judge(&recording, GMT_REPLAY_TO_END, &options);
	assert_int_equal(leak(0)->blocks, 1);
	recording_end(&recording);
}

static void driver_blocks_at_the_end_are_found_and_caches_and_libraries_are_not(void **state)
{
	struct gmt_leaks_options options = options_for(0);
	uint32_t cublas, cache;

	(void)state;
	for (int with_libraries = 0; with_libraries < 2; with_libraries++) {
		begin();
		cublas = recording_native(&recording, "/usr/lib/libcublas.so.12");
		cache = recording_native(&recording, "/env/site-packages/torch/lib/libc10_cuda.so");
		ALLOC(&recording, .size_bytes = 100, .layer = GMT_LAYER_CUDA, .stack = line);
		ALLOC(&recording, .size_bytes = 200, .layer = GMT_LAYER_CUDA, .native = cublas);
		ALLOC(&recording, .size_bytes = 2 << 20, .layer = GMT_LAYER_CUDA, .native = cache);
		keep(line, 400); /* PyTorch's own block: it lives at the end of every program */
		options.with_libraries = with_libraries;
		recording_judge(&recording, GMT_REPLAY_TO_END, &options);
		assert_int_equal(leak_count(), 1 + with_libraries);
		assert_int_equal(leak(0)->definition, GMT_LEAK_EXIT);
		assert_int_equal(leak(with_libraries)->bytes, 100);
		recording_end(&recording);
	}
}

static void blocks_that_teardown_frees_were_live_at_the_end_of_the_work(void **state)
{
	uint64_t block;

	(void)state;
	begin();
	block = keep(line, 100);
	MARK(&recording, TEARDOWN, INTERPRETER);
	release(block, 100);
	judge_by(DEFINITION(EXIT));
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->bytes, 100);
	recording_end(&recording);
}

static void a_line_is_reported_by_the_first_definition_that_applies(void **state)
{
	(void)state;
	for (int all = 0; all < 2; all++) {
		begin();
		for (int i = 0; i < 20; i++) {
			push("batch");
			keep(line, 512);
			pop();
			step();
		}
		judge_by(all ? DEFINITION(GROWTH) | DEFINITION(PHASE) | DEFINITION(EXIT)
					 : DEFINITION(PHASE) | DEFINITION(EXIT));
		assert_int_equal(leak_count(), 1);
		assert_int_equal(leak(0)->definition, all ? GMT_LEAK_GROWTH : GMT_LEAK_PHASE);
		recording_end(&recording);
	}
}

static void memory_that_pytorch_caches_is_listed_and_is_not_a_leak(void **state)
{
	(void)state;
	begin();
	keep(line, 512);
	ALLOC(&recording, .size_bytes = 100, .layer = GMT_LAYER_CUDA, .space = GMT_SPACE_PINNED,
		.device = GMT_DEVICE_HOST);
	judge();
	assert_int_equal(recording.leaks.cached.count, 1);
	assert_int_equal(recording.leaks.cached.items[0].bytes, 4096);
	assert_int_equal(leak_count(), 1);
	assert_int_equal(leak(0)->device, GMT_DEVICE_HOST);
	recording_end(&recording);
}

static void an_empty_recording_has_no_leaks(void **state)
{
	(void)state;
	begin();
	judge();
	assert_int_equal(leak_count(), 0);
	assert_int_equal(recording.leaks.cached.count, 0);
	assert_non_null(recording.leaks.why_growth_not_judged);
	recording_end(&recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(blocks_that_outlive_their_phase_are_found_except_the_newest_of_a_line),
		TEST(an_open_phase_is_not_judged),
		TEST(an_open_phase_does_not_delay_the_judgement_of_others),
		TEST(each_phase_that_a_line_left_something_from_is_a_finding),
		TEST(parameters_that_outlive_a_phase_are_not_leaks),
		TEST(blocks_older_than_the_limit_are_found_by_age),
		TEST(the_age_of_a_block_ends_with_the_work_of_the_program),
		TEST(driver_blocks_at_the_end_are_found_and_caches_and_libraries_are_not),
		TEST(blocks_that_teardown_frees_were_live_at_the_end_of_the_work),
		TEST(a_line_is_reported_by_the_first_definition_that_applies),
		TEST(memory_that_pytorch_caches_is_listed_and_is_not_a_leak),
		TEST(an_empty_recording_has_no_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
