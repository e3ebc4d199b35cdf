/* SPDX-License-Identifier: MIT */
/* Owners of segments that have no native stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic_recording.h"
#include "temporary_file.h"

#define PACKAGES "/env/lib/python3.12/site-packages/"

static uint32_t owner_of_event(const struct recording *recording, size_t event, int32_t device)
{
	struct gmt_recording_event row = gmt_recording_event(recording->loaded, event);

	return gmt_owners_find(&recording->traces.owners, recording->traces.stack_of_trace[row.trace],
		row.layer, device);
}

static bool is_segment(const struct recording *recording, size_t event)
{
	return gmt_owners_is_segment(&recording->traces.owners,
		recording->traces.stack_of_trace[gmt_recording_event(recording->loaded, event).trace]);
}

static void without_native_stacks_a_segment_is_known_by_its_first_block(void **state)
{
	struct recording recording;
	uint64_t address;

	(void)state;
	recording_begin(&recording, path);
	uint32_t first = recording_stack(&recording, "/home/me/t.py:1 make");
	uint32_t second = recording_stack(&recording, "/home/me/t.py:2 alone");
	uint32_t third = recording_native(&recording, PACKAGES "torch/lib/libc10_cuda.so");
	address = ALLOC(&recording, 4096, .stack = first, .layer = GMT_LAYER_CUDA);
	ALLOC(&recording, 512, .stack = first, .address = address + 1024);
	ALLOC(&recording, 4096, .stack = second, .layer = GMT_LAYER_CUDA);
	/* Another thread's block proves nothing. */
	ALLOC(&recording, 512, .stack = first, .address = recording.next_address,
		.thread = OTHER_THREAD);
	ALLOC(&recording, 4096, .native = third, .layer = GMT_LAYER_CUDA);
	recording_read(&recording);
	assert_int_equal(owner_of_event(&recording, 0, 0), GMT_OWNER_PYTORCH);
	assert_true(is_segment(&recording, 0));
	/* Pinned memory of the same line is not a segment. */
	assert_int_equal(owner_of_event(&recording, 0, GMT_DEVICE_HOST), GMT_OWNER_PROGRAM);
	assert_int_equal(owner_of_event(&recording, 1, 0), GMT_OWNER_PYTORCH);
	assert_int_equal(owner_of_event(&recording, 2, 0), GMT_OWNER_PROGRAM);
	assert_false(is_segment(&recording, 2));
	assert_int_equal(owner_of_event(&recording, 4, 0), GMT_OWNER_PYTORCH);
	assert_true(is_segment(&recording, 4));
	recording_end(&recording);
}

static void put_got(struct recording *recording, uint8_t kind, uint8_t space, uint64_t address,
	uint32_t stack)
{
	RECORDING_PUT(&recording->file, EVENT, gmt_event, .stamp = recording->stamp += 10,
		.thread = MAIN_THREAD, .kind = kind, .layer = GMT_LAYER_CUDA, .space = space,
		.address = address, .size_bytes = 2 << 20, .object = 7, .frames = stack);
	recording->events++;
}

static void pages_with_pytorchs_blocks_are_a_segment(void **state)
{
	struct recording recording;
	uint64_t page = UINT64_C(0x7e0000000000);

	(void)state;
	recording_begin(&recording, path);
	uint32_t stack = recording_stack(&recording, "/home/me/t.py:1 make");
	for (uint64_t i = 0; i < 3; i++) {
		put_got(&recording, GMT_KIND_ALLOC, GMT_SPACE_VMM, 7 + i, stack);
		put_got(&recording, GMT_KIND_MAP, GMT_SPACE_VMM, page + i * (2 << 20), stack);
	}
	/* The block begins in old pages and ends in the new ones. */
	ALLOC(&recording, 5 << 20, .stack = recording_stack(&recording, "/home/me/t.py:2 other"),
		.address = page - 4096);
	recording_read(&recording);
	assert_int_equal(owner_of_event(&recording, 0, 0), GMT_OWNER_PYTORCH);
	assert_true(is_segment(&recording, 1));
	recording_end(&recording);
}

static void memory_without_a_stack_is_pytorchs_if_pytorchs_blocks_fill_it(void **state)
{
	(void)state;
	for (int others = 0; others < 2; others++) {
		struct recording recording;
		uint64_t address;

		recording_begin(&recording, path);
		for (int i = 0; i < 2; i++) {
			address = ALLOC(&recording, 4096, .layer = GMT_LAYER_CUDA, .thread = i + 1);
			ALLOC(&recording, 512, .address = address, .thread = i + 1);
		}
		ALLOC(&recording, 4096, .layer = GMT_LAYER_CUDA, .space = GMT_SPACE_PINNED);
		if (others)
			ALLOC(&recording, 4096, .layer = GMT_LAYER_CUDA);
		recording_read(&recording);
		assert_int_equal(owner_of_event(&recording, 0, 0),
			others ? GMT_OWNER_UNKNOWN : GMT_OWNER_PYTORCH);
		assert_int_equal(is_segment(&recording, 0), !others);
		assert_int_equal(owner_of_event(&recording, 4, GMT_DEVICE_HOST), GMT_OWNER_UNKNOWN);
		recording_end(&recording);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(without_native_stacks_a_segment_is_known_by_its_first_block),
		TEST(pages_with_pytorchs_blocks_are_a_segment),
		TEST(memory_without_a_stack_is_pytorchs_if_pytorchs_blocks_fill_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
