/* SPDX-License-Identifier: MIT */
/* Steps and phases of made-up recordings: where they begin and end, and which ones count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "synthetic_recording.h"
#include "temporary_file.h"

static struct recording recording;

static void begin(void)
{
	recording_begin(&recording, path);
}

static size_t steps_of(size_t series)
{
	return recording.timeline.series[series].steps.count;
}

static void optimizer_steps(uint64_t object, const char *class, int count)
{
	for (int i = 0; i < count; i++)
		MARK(&recording, STEP, OPTIMIZER, class, object);
}

static void of_two_concurrent_optimizers_the_one_with_more_steps_counts(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 10; i++) {
		optimizer_steps(0xd, "Adam",
			3); /* a discriminator: three steps for each step of a generator */
		optimizer_steps(0xe, "Adam", 1);
	}
	recording_read(&recording);
	assert_int_equal(steps_of(0), 30);
	assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_OPTIMIZER);
	assert_string_equal(recording.timeline.series[0].name, "Adam");
	recording_end(&recording);
}

static void consecutive_optimizers_are_one_counter(void **state)
{
	(void)state;
	begin();
	for (uint64_t epoch = 1; epoch <= 4; epoch++)
		optimizer_steps(epoch, "SGD", 5);
	optimizer_steps(77, "AdamW", 9);
	recording_read(&recording);
	assert_int_equal(steps_of(0), 29);
	recording_end(&recording);
}

static void steps_follow_each_other_from_the_start_to_the_last_mark(void **state)
{
	uint32_t step;

	(void)state;
	begin();
	optimizer_steps(1, "SGD", 3); /* at 1010, 1020, 1030 */
	recording_read(&recording);

	const struct gmt_step_series *series = &recording.timeline.series[0];
	assert_true(gmt_series_find(series, 1, &step) && step == 0);
	assert_true(gmt_series_find(series, 1010, &step) && step == 0);
	assert_true(gmt_series_find(series, 1011, &step) && step == 1);
	assert_true(gmt_series_find(series, 1030, &step) && step == 2);
	assert_false(gmt_series_find(series, 1031, &step));
	recording_end(&recording);
}

static void marks_of_the_program_win_over_ranges_and_ranges_over_optimizers(void **state)
{
	(void)state;
	for (int sources = 1; sources <= 7; sources++) {
		begin();
		for (int i = 0; i < 4; i++) {
			MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
			if (sources & 2) {
				MARK(&recording, PUSH, NVTX, "step");
				MARK(&recording, POP, NVTX);
			}
			if (sources & 4)
				MARK(&recording, STEP, PROGRAM, "");
		}
		recording_read(&recording);
		assert_int_equal(recording.timeline.series[0].source,
			sources & 4       ? GMT_STEPS_PROGRAM
				: sources & 2 ? GMT_STEPS_NVTX
							  : GMT_STEPS_OPTIMIZER);
		assert_int_equal(steps_of(0), 4);
		recording_end(&recording);
	}
}

static void push_and_pop(const char *name)
{
	MARK(&recording, PUSH, NVTX, name);
	MARK(&recording, POP, NVTX);
}

static void ranges_that_differ_by_a_number_are_steps_of_one_counter(void **state)
{
	(void)state;
	begin();
	push_and_pop("load data"); /* not a step */
	push_and_pop("step 1"); /* from 1030 */
	push_and_pop("step 2");
	push_and_pop("step 10"); /* from 1070 to 1080 */
	recording_read(&recording);
	assert_int_equal(steps_of(0), 3);
	assert_int_equal(recording.timeline.series[0].steps.items[0].begin, 1030);
	assert_int_equal(recording.timeline.series[0].steps.items[0].end, 1050);
	assert_int_equal(recording.timeline.series[0].steps.items[2].end, 1080);
	recording_end(&recording);
}

static void only_ranges_named_after_steps_are_steps(void **state)
{
	static const struct {
		const char *name;
		bool is_step;
	} rows[] = {
		{ "step", true },
		{ "Training Step 12", true },
		{ "train_step_3", true },
		{ "iteration 5", true },
		{ "iter3", true },
		{ "batch 7", true },
		{ "minibatch-2", true },
		{ "ProfilerStep#4", true },
		{ "Optimizer.step#AdamW.step", true },
		{ "epoch 3", false },
		{ "aten::batch_norm", false },
		{ "aten::_batch_norm_impl_index", false },
		{ "BatchNorm2d", false },
		{ "iterator", false },
		{ "cublasGemmBatchedEx", false },
		{ "stepper", false },
		{ "timestep_embedding", false },
		{ "backward", false },
		{ "", false },
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		push_and_pop(rows[i].name);
		push_and_pop(rows[i].name);
		recording_read(&recording);
		assert_int_equal(steps_of(0), rows[i].is_step ? 2 : 0);
		recording_end(&recording);
	}
}

static void ranges_of_two_kinds_do_not_count_together(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 5; i++)
		push_and_pop("train step");
	for (int i = 0; i < 4; i++)
		push_and_pop("test step");
	recording_read(&recording);
	assert_int_equal(steps_of(0), 5);
	recording_end(&recording);
}

static void a_single_range_is_not_a_step_counter(void **state)
{
	(void)state;
	begin();
	push_and_pop("all steps and the batch");
	optimizer_steps(1, "SGD", 2);
	recording_read(&recording);
	assert_int_equal(recording.timeline.series[0].source, GMT_STEPS_OPTIMIZER);
	recording_end(&recording);
}

static void without_steps_the_reason_is_reported(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		static const char *const reasons[] = {
			"does not use PyTorch's allocator",
			"no module was called",
			"steps=off",
			"without Python stacks",
		};

		begin();
		if (i == 2)
			recording_option(&recording, "steps", "off");
		if (i == 3)
			recording_option(&recording, "stacks", "native");
		if (i)
			ALLOC(&recording, .size_bytes = 512);
		recording_read(&recording);
		assert_int_equal(recording.timeline.series_count, 0);
		assert_non_null(strstr(recording.timeline.why_no_steps, reasons[i]));
		recording_end(&recording);
	}
}

static const struct gmt_phase *phase(size_t index)
{
	assert_true(index < recording.timeline.phases.count);
	return &recording.timeline.phases.items[index];
}

/* Returns the name of the innermost phase around a stamp, "-" without one. */
static const char *at(uint64_t stamp, bool own)
{
	const struct gmt_phase *found = gmt_timeline_phase(&recording.timeline, stamp, own);

	return found ? found->name : "-";
}

static void phases_nest_by_thread_and_source(void **state)
{
	(void)state;
	begin();
	MARK(&recording, PUSH, PROGRAM, "epoch"); /* 1010 */
	MARK(&recording, PUSH, PROGRAM, "train"); /* 1020 */
	MARK(&recording, PUSH, NVTX, "range"); /* 1030 */
	MARK(&recording, PUSH, PROGRAM, "load", .thread = OTHER_THREAD); /* 1040 */
	MARK(&recording, POP, PROGRAM); /* 1050: train */
	MARK(&recording, POP, PROGRAM, .thread = OTHER_THREAD); /* 1060: load */
	MARK(&recording, POP, NVTX); /* 1070: range */
	MARK(&recording, POP, PROGRAM); /* 1080: epoch */
	recording_read(&recording);
	assert_int_equal(phase(0)->depth, 0);
	assert_int_equal(phase(1)->depth, 1);
	assert_int_equal(phase(2)->depth, 0);
	assert_int_equal(phase(3)->depth, 0);
	assert_int_equal(phase(0)->end, 1080);
	assert_int_equal(phase(1)->end, 1050);
	assert_int_equal(phase(2)->end, 1070);
	assert_int_equal(phase(3)->end, 1060);
	assert_string_equal(at(1010, false), "-");
	assert_string_equal(at(1011, false), "epoch");
	assert_string_equal(at(1030, false), "train");
	assert_string_equal(at(1031, false), "range");
	assert_string_equal(at(1031, true), "train");
	assert_string_equal(at(1050, false), "load");
	assert_string_equal(at(1065, false), "range");
	assert_string_equal(at(1065, true), "epoch");
	assert_string_equal(at(1080, false), "epoch");
	assert_string_equal(at(1081, false), "-");
	recording_end(&recording);
}

static void a_phase_that_is_never_closed_lasts_to_the_end_and_is_not_an_own_phase(void **state)
{
	(void)state;
	begin();
	MARK(&recording, PUSH, PROGRAM, "open");
	MARK(&recording, PUSH, PROGRAM, "inner");
	MARK(&recording, POP, PROGRAM);
	ALLOC(&recording, .size_bytes = 512);
	recording_read(&recording);
	assert_true(phase(0)->open);
	assert_int_equal(phase(0)->end, recording.loaded->last_stamp);
	assert_false(phase(1)->open);
	assert_string_equal(at(1035, false), "open");
	assert_string_equal(at(1035, true), "-");
	assert_string_equal(at(1025, true), "inner");
	recording_end(&recording);
}

static void an_end_without_a_phase_is_ignored(void **state)
{
	(void)state;
	begin();
	MARK(&recording, POP, PROGRAM);
	MARK(&recording, STOP, NVTX, .object = 7);
	MARK(&recording, PUSH, PROGRAM, "phase"); /* 1030 */
	MARK(&recording, POP, NVTX); /* another source */
	MARK(&recording, POP, PROGRAM, .thread = OTHER_THREAD); /* another thread */
	MARK(&recording, POP, PROGRAM); /* 1060 */
	MARK(&recording, POP, PROGRAM);
	recording_read(&recording);
	assert_int_equal(recording.timeline.phases.count, 1);
	assert_int_equal(phase(0)->end, 1060);
	recording_end(&recording);
}

static void a_numbered_range_may_end_in_another_thread_and_in_any_order(void **state)
{
	(void)state;
	begin();
	MARK(&recording, START, NVTX, "first", .object = 1); /* 1010 */
	MARK(&recording, START, NVTX, "second", .object = 2); /* 1020 */
	MARK(&recording, STOP, NVTX, .object = 1, .thread = OTHER_THREAD); /* 1030 */
	MARK(&recording, STOP, NVTX, .object = 2, .thread = OTHER_THREAD); /* 1040 */
	recording_read(&recording);
	assert_int_equal(phase(0)->end, 1030);
	assert_int_equal(phase(1)->end, 1040);
	assert_int_equal(phase(1)->depth, 0);
	assert_string_equal(at(1025, false), "second");
	assert_string_equal(at(1035, false), "second");
	recording_end(&recording);
}

static void each_nvtx_domain_nests_separately(void **state)
{
	(void)state;
	begin();
	MARK(&recording, PUSH, NVTX, "mine", .object = 0xa); /* 1010 */
	MARK(&recording, PUSH, NVTX, "library's", .object = 0xb); /* 1020 */
	MARK(&recording, POP, NVTX, .object = 0xa); /* 1030 */
	MARK(&recording, POP, NVTX, .object = 0xb); /* 1040 */
	recording_read(&recording);
	assert_int_equal(phase(0)->end, 1030);
	assert_int_equal(phase(1)->end, 1040);
	assert_int_equal(phase(1)->depth, 0);
	recording_end(&recording);
}

static void a_phase_that_ends_in_the_tick_of_its_begin_is_empty(void **state)
{
	(void)state;
	begin();
	MARK(&recording, PUSH, PROGRAM, "outer"); /* 1010 */
	MARK(&recording, PUSH, PROGRAM, "empty"); /* 1020 */
	recording.stamp -= 10;
	MARK(&recording, POP, PROGRAM); /* 1020 again */
	ALLOC(&recording, .size_bytes = 512); /* 1030 */
	MARK(&recording, POP, PROGRAM); /* 1040 */
	recording_read(&recording);
	assert_string_equal(at(1030, true), "outer");
	assert_string_equal(at(1045, true), "-");
	recording_end(&recording);
}

static void ranges_without_an_end_do_not_hide_later_ranges(void **state)
{
	(void)state;
	begin();
	for (uint64_t i = 0; i < 5000; i++)
		MARK(&recording, START, NVTX, "leaked", .object = i + 1);
	MARK(&recording, PUSH, PROGRAM, "late");
	MARK(&recording, POP, PROGRAM);
	recording_read(&recording);
	assert_int_equal(recording.timeline.phases.count, 5001);
	assert_false(phase(5000)->open);
	assert_true(phase(0)->open);
	assert_int_equal(phase(0)->end, recording.loaded->last_stamp);
	recording_end(&recording);
}

static void events_after_the_first_teardown_mark_are_not_work(void **state)
{
	(void)state;
	begin();
	MARK(&recording, TEARDOWN, INTERPRETER); /* 1010 */
	MARK(&recording, TEARDOWN, INTERPRETER);
	recording_read(&recording);
	assert_int_equal(recording.timeline.work_end, 1010);
	recording_end(&recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(of_two_concurrent_optimizers_the_one_with_more_steps_counts),
		TEST(consecutive_optimizers_are_one_counter),
		TEST(steps_follow_each_other_from_the_start_to_the_last_mark),
		TEST(marks_of_the_program_win_over_ranges_and_ranges_over_optimizers),
		TEST(ranges_that_differ_by_a_number_are_steps_of_one_counter),
		TEST(only_ranges_named_after_steps_are_steps),
		TEST(ranges_of_two_kinds_do_not_count_together),
		TEST(a_single_range_is_not_a_step_counter),
		TEST(without_steps_the_reason_is_reported),
		TEST(phases_nest_by_thread_and_source),
		TEST(a_phase_that_is_never_closed_lasts_to_the_end_and_is_not_an_own_phase),
		TEST(an_end_without_a_phase_is_ignored),
		TEST(a_numbered_range_may_end_in_another_thread_and_in_any_order),
		TEST(each_nvtx_domain_nests_separately),
		TEST(a_phase_that_ends_in_the_tick_of_its_begin_is_empty),
		TEST(ranges_without_an_end_do_not_hide_later_ranges),
		TEST(events_after_the_first_teardown_mark_are_not_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
