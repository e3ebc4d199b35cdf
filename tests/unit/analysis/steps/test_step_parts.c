/* SPDX-License-Identifier: MIT */
/* The parts of a step: the memory that it makes, carries on, and keeps for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/steps/step_parts.h"
#include "synthetic_recording.h"
#include "temporary_file.h"

enum { STEPS = 40, KIB = 1024 };

static struct recording recording;
static struct gmt_step_parts parts;
static uint32_t model, data, evaluation, epoch;

static void begin(void)
{
	recording_begin(&recording, path);
	model = recording_stack(&recording,
		"/me/net.py:1 forward\n" MODULE_FRAME "\n/me/train.py:20 train");
	data = recording_stack(&recording, "/me/train.py:19 train");
	evaluation = recording_stack(&recording,
		"/me/net.py:1 forward\n" MODULE_FRAME "\n/me/train.py:50 evaluate");
	epoch = recording_stack(&recording, "/me/train.py:60 end_of_epoch");
}

static uint64_t make(uint32_t stack, uint64_t size_bytes)
{
	return ALLOC(&recording, .size_bytes = size_bytes, .stack = stack);
}

static void drop(uint64_t address, uint64_t size_bytes)
{
	if (address)
		recording_free(&recording, GMT_LAYER_TORCH, address, size_bytes);
}

static void finish(void)
{
	struct gmt_replay_observer observers[2];
	struct gmt_replay_options options = {
		.until_ns = GMT_REPLAY_TO_END, .observers = observers, .observer_count = 2
	};
	struct gmt_error error;

	recording_read(&recording);
	assert_int_equal(gmt_history_init(&recording.history, recording.loaded, &recording.traces,
						 &recording.timeline, GMT_REPLAY_TO_END, &error),
		GMT_OK);
	parts = (struct gmt_step_parts){ 0 };
	gmt_step_parts_init(&parts, &recording.timeline, &recording.traces);
	observers[0] = recording.history.observer;
	observers[1] = parts.observer;
	assert_int_equal(gmt_replay_run(&recording.replay, recording.loaded, &recording.traces,
						 &options, &error),
		GMT_OK);
	assert_true(gmt_step_parts_finish(&parts, &recording.replay, &recording.history));
}

static void end(void)
{
	gmt_step_parts_fini(&parts);
	recording_end(&recording);
}

static const struct gmt_step_parts_row *row(unsigned part)
{
	assert_true(parts.rows.count >= GMT_STEP_PARTS);
	return &parts.rows.items[part];
}

static void blocks_that_the_next_step_replaces_are_carried_on_and_unfreed_blocks_are_kept(
	void **state)
{
	uint64_t result = 0;

	(void)state;
	begin();
	for (int i = 0; i < STEPS; i++) {
		uint64_t batch = make(data, 4 * KIB), new;

		drop(make(model, 64 * KIB), 64 * KIB);
		new = make(model, 16 * KIB);
		drop(result, 16 * KIB);
		result = new;
		make(model, KIB);
		drop(batch, 4 * KIB);
		MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
	}
	finish();
	assert_int_equal(row(GMT_PART_FORWARD)->times, STEPS - 1);
	assert_int_equal(row(GMT_PART_FORWARD)->made_bytes, 81 * KIB);
	assert_int_equal(row(GMT_PART_FORWARD)->carried_bytes, 16 * KIB);
	assert_int_equal((int)row(GMT_PART_FORWARD)->kept_bytes, KIB);
	assert_int_equal(row(GMT_PART_OTHER)->made_bytes, 4 * KIB);
	assert_int_equal(row(GMT_PART_OTHER)->carried_bytes, 0);
	assert_int_equal((int)row(GMT_PART_OTHER)->kept_bytes, 0);
	assert_int_equal(row(GMT_STEP_PARTS_EVALUATION)->times, 0);
	assert_int_equal(row(GMT_STEP_PARTS_EPOCH)->times, 0);
	end();
}

static void evaluation_and_epochs_have_their_own_rows(void **state)
{
	(void)state;
	begin();
	for (int i = 1; i <= STEPS; i++) {
		drop(make(model, 64 * KIB), 64 * KIB);
		MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
		if (i % 8)
			continue;
		for (int batch = 0; batch < 3; batch++) {
			drop(make(evaluation, 8 * KIB), 8 * KIB);
			make(evaluation, KIB);
			drop(make(data, 512), 512);
		}
		make(epoch, 32 * KIB);
	}
	drop(make(model, 64 * KIB), 64 * KIB);
	MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
	finish();
	assert_int_equal(row(GMT_PART_FORWARD)->made_bytes, 64 * KIB);
	assert_int_equal((int)row(GMT_PART_FORWARD)->kept_bytes, 0);
	assert_int_equal(row(GMT_STEP_PARTS_EVALUATION)->times, 15);
	assert_int_equal(row(GMT_STEP_PARTS_EVALUATION)->made_bytes, 9 * KIB + 512);
	assert_int_equal(row(GMT_STEP_PARTS_EPOCH)->times, 5);
	assert_int_equal(row(GMT_STEP_PARTS_EPOCH)->made_bytes, 32 * KIB);
	end();
}

static void with_few_steps_kept_memory_is_unknown(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 4; i++) {
		make(model, KIB);
		MARK(&recording, STEP, OPTIMIZER, "SGD", 1);
	}
	finish();
	assert_int_equal(row(GMT_PART_FORWARD)->carried_bytes, KIB);
	assert_true(row(GMT_PART_FORWARD)->kept_bytes < 0);
	end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(blocks_that_the_next_step_replaces_are_carried_on_and_unfreed_blocks_are_kept),
		TEST(evaluation_and_epochs_have_their_own_rows),
		TEST(with_few_steps_kept_memory_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
