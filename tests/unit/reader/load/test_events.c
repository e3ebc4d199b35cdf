/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "containers/map.h"
#include "reader/load/events.h"
#include "reader/load/event_sorter.h"

static struct gmt_event_shapes shapes; /* of the running test */

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state = gmt_hash_u64(random_state + 1);
	return random_state % below;
}

/* Returns an event whose fields have all magnitudes, sometimes extreme ones. */
static struct gmt_recording_event draw_event(uint64_t stamp)
{
	uint64_t magnitude = (uint64_t)1 << draw(64), extreme = draw(500) ? 0 : UINT64_MAX;

	return (struct gmt_recording_event){
		.stamp = stamp,
		.address = draw(magnitude) << 8 | extreme,
		.size_bytes = draw(5) * 512,
		.more = { draw(magnitude), extreme },
		.trace = (uint32_t)(draw(400) | extreme),
		.thread = (uint32_t)(draw(3) | extreme),
		.result = (uint32_t)extreme,
		.api = (uint16_t)(draw(9) | extreme),
		.context = (uint16_t)extreme,
		.device = (int16_t)(draw(3) - 2),
		.kind = (uint8_t)(1 + draw(20)),
		.layer = (uint8_t)(1 + draw(6)),
		.space = (uint8_t)(draw(23) | extreme),
	};
}

static void assert_same(const struct gmt_recording_event *a, const struct gmt_recording_event *b)
{
	assert_true(a->stamp == b->stamp && a->address == b->address &&
		a->size_bytes == b->size_bytes && a->more[0] == b->more[0] && a->more[1] == b->more[1] &&
		a->trace == b->trace && a->thread == b->thread && a->result == b->result &&
		a->api == b->api && a->context == b->context && a->device == b->device &&
		a->kind == b->kind && a->layer == b->layer && a->space == b->space);
}

static void check_packing(size_t max_bytes, bool in_file)
{
	enum { COUNT = 5 * GMT_EVENTS_CHUNK + 17 };
	struct gmt_recording_event *all = calloc(COUNT, sizeof(*all));
	struct gmt_events events = { .shapes = &shapes, .max_bytes = max_bytes };
	struct gmt_events_reader reader;

	for (size_t i = 0; i < COUNT; i++) {
		all[i] = draw_event(i < 3000 ? i : UINT64_MAX - COUNT + i);
		assert_true(gmt_events_push(&events, &all[i]));
	}
	assert_int_equal(events.count, COUNT);
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	for (size_t i = 0; i < COUNT; i++)
		assert_same(gmt_events_at(&reader, i), &all[i]);
	for (size_t i = COUNT; i-- > 0;)
		assert_same(gmt_events_at(&reader, i), &all[i]);
	assert_true(in_file == (events.file != NULL) && !gmt_events_failed(&events));
	assert_true(!in_file ||
		events.bytes.count < max_bytes + 8 * GMT_EVENTS_CHUNK * GMT_EVENTS_COLUMNS);
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
	free(all);
}

static void packed_events_are_unpacked_unchanged(void **state)
{
	(void)state;
	check_packing(0, false);
}

static void events_beyond_the_memory_limit_are_read_back_from_a_file(void **state)
{
	(void)state;
	check_packing(1, true);
	check_packing(60000, true);
}

static void without_a_folder_all_events_stay_in_memory(void **state)
{
	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	check_packing(1, false);
	unsetenv("TMPDIR");
}

static void a_failure_to_read_back_is_reported(void **state)
{
	struct gmt_recording_event event = { .kind = 1, .layer = 1 };
	struct gmt_events events = { .shapes = &shapes, .max_bytes = 1 };
	struct gmt_events_reader reader;

	(void)state;
	for (uint64_t i = 0; i < 3 * GMT_EVENTS_CHUNK; i++) {
		event.address = i;
		assert_true(gmt_events_push(&events, &event));
	}
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	assert_int_equal(gmt_events_at(&reader, GMT_EVENTS_CHUNK + 5)->address, GMT_EVENTS_CHUNK + 5);
	assert_false(gmt_events_failed(&events));
	events.chunks.items[0].columns[1].offset = (uint64_t)1 << 40;
	events.file_bytes = (uint64_t)1 << 41;
	assert_int_equal(gmt_events_at(&reader, 5)->address, 0);
	assert_true(gmt_events_failed(&events));
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
}

/*
 * A chunk stores only the bits that differ between its values, not the equal bits above and below.
 */
static void bits_that_all_events_share_are_restored(void **state)
{
	enum { COUNT = 3 * GMT_EVENTS_CHUNK + 5 };
	struct gmt_recording_event *all = calloc(COUNT, sizeof(*all));
	struct gmt_events events = { .shapes = &shapes };
	struct gmt_events_reader reader;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		uint64_t one = draw(2), other = draw(64);

		all[i] = (struct gmt_recording_event){
			.stamp = (uint64_t)5 << 60 | i << 8 | 0x81,
			.address = 0x7f0000000200 | one << 10,
			.size_bytes = 513 + 1024 * one,
			.more = { UINT64_MAX ^ one << 63, 5 | other << 20 },
			.trace = 1 + 2 * (uint32_t)one,
			.thread = 7 + (uint32_t)other,
			.kind = 1,
			.layer = 1,
		};
		assert_true(gmt_events_push(&events, &all[i]));
	}
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	for (size_t i = 0; i < COUNT; i++)
		assert_same(gmt_events_at(&reader, i), &all[i]);
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
	free(all);
}

static void equal_chunks_take_almost_no_memory(void **state)
{
	struct gmt_recording_event event = {
		.stamp = 1, .address = UINT64_MAX, .thread = 7, .kind = 1, .layer = 1
	};
	struct gmt_events events = { .shapes = &shapes };

	(void)state;
	for (size_t i = 0; i < 3 * GMT_EVENTS_CHUNK; i++) {
		event.stamp += 256; /* takes a byte for each event; the equal bits take none */
		assert_true(gmt_events_push(&events, &event));
	}
	assert_in_range(events.bytes.count, 1, 2 * 2 * GMT_EVENTS_CHUNK);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
}

static void check_new_traces(size_t max_bytes)
{
	enum { COUNT = 2 * GMT_EVENTS_CHUNK + 5 };
	struct gmt_recording_event event = { .kind = 1, .layer = 1, .trace = 3 };
	uint32_t traces[GMT_EVENTS_CHUNK];
	struct gmt_events events = { .shapes = &shapes, .max_bytes = max_bytes };
	struct gmt_events_reader reader;

	for (size_t i = 0; i < COUNT; i++)
		assert_true(gmt_events_push(&events, &event));
	for (uint32_t i = 0; i < GMT_EVENTS_CHUNK; i++)
		traces[i] = 1000000 + i * i;
	assert_true(gmt_events_set_traces(&events, GMT_EVENTS_CHUNK, traces));
	assert_true(gmt_events_set_traces(&events, 2 * GMT_EVENTS_CHUNK, traces));
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(gmt_events_at(&reader, i)->trace,
			i < GMT_EVENTS_CHUNK ? 3 : traces[i % GMT_EVENTS_CHUNK]);
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
}

static void traces_can_be_changed_in_full_chunks_and_in_the_last_one(void **state)
{
	(void)state;
	check_new_traces(0);
	check_new_traces(1);
}

struct sort_key {
	uint64_t part, stamp, position;
};

static int by_time(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

/*
 * Checks events of several threads in turn. No block is later than `reach` behind the others. A
 * second part begins at `part`.
 */
static void check_order(size_t count, uint64_t reach, size_t part)
{
	struct sort_key *expected = calloc(count, sizeof(*expected));
	struct gmt_event_sorter sorter = { .shapes = &shapes };
	struct gmt_events events = { 0 };
	struct gmt_events_reader reader;
	uint64_t stamp = 0;

	for (size_t i = 0; i < count; i++) {
		struct gmt_recording_event event = { .kind = 1, .layer = 1, .address = i };
		struct gmt_events_row *slot;

		if (i % 100 == 0)
			stamp = i / 3 + draw(reach);
		event.stamp = stamp += draw(2);
		if (i == part)
			assert_true(gmt_event_sorter_end_part(&sorter));
		slot = gmt_event_sorter_push(&sorter, event.stamp);
		assert_non_null(slot);
		assert_true(gmt_events_row_of(&shapes, &event, slot));
		expected[i] = (struct sort_key){ i >= part, event.stamp, i };
	}
	assert_true(gmt_event_sorter_finish(&sorter, &events));
	qsort(expected, count, sizeof(*expected), by_time);
	assert_int_equal(events.count, count);
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(gmt_events_at(&reader, i)->address, expected[i].position);
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
	gmt_event_sorter_fini(&sorter);
	free(expected);
}

static void events_are_sorted_by_stamp_and_then_by_arrival(void **state)
{
	(void)state;
	check_order(5, 10, 5);
	check_order(300000, 2000, 300000);
}

static void events_far_from_their_place_are_sorted(void **state)
{
	(void)state;
	check_order(700000, 1000000, 700000);
}

/* The file has two threads one after the other, with some equal stamps. */
static void events_that_were_emitted_too_early_are_sorted_again(void **state)
{
	enum { COUNT = 300000 };
	struct gmt_event_sorter sorter = { .shapes = &shapes };
	struct gmt_events events = { 0 };
	struct gmt_events_reader reader;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t half = COUNT / 2, number = i < half ? 2 * i : 2 * (i - half) + 1;
		struct gmt_recording_event event = {
			.kind = 1, .layer = 1, .address = number, .stamp = 1 + number / 4 * 4
		};
		struct gmt_events_row *slot = gmt_event_sorter_push(&sorter, event.stamp);

		assert_non_null(slot);
		assert_true(gmt_events_row_of(&shapes, &event, slot));
	}
	assert_int_equal(sorter.runs.count, 1); /* no second run, which would need a merge */
	assert_true(gmt_event_sorter_finish(&sorter, &events));
	assert_int_equal(events.count, COUNT);
	assert_true(gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL));
	for (uint64_t i = 0; i < COUNT; i++) {
		/* Of four events with one stamp, the first thread's come first. */
		static const uint64_t places[] = { 0, 2, 1, 3 };

		assert_int_equal(gmt_events_at(&reader, i)->address, i / 4 * 4 + places[i % 4]);
	}
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	gmt_event_shapes_fini(&shapes);
	gmt_event_sorter_fini(&sorter);
}

static void events_of_the_second_part_follow_the_first(void **state)
{
	(void)state;
	check_order(1000, 5000, 1);
	check_order(400000, 100000, 170000);
	check_order(1000, 5000, 1000);
}

static void an_empty_list_of_events_can_be_sorted(void **state)
{
	struct gmt_event_sorter sorter = { .shapes = &shapes };
	struct gmt_events events = { 0 };

	(void)state;
	assert_true(gmt_event_sorter_end_part(&sorter));
	assert_true(gmt_event_sorter_finish(&sorter, &events));
	assert_int_equal(events.count, 0);
	gmt_event_sorter_fini(&sorter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_events_are_unpacked_unchanged),
		cmocka_unit_test(events_beyond_the_memory_limit_are_read_back_from_a_file),
		cmocka_unit_test(without_a_folder_all_events_stay_in_memory),
		cmocka_unit_test(a_failure_to_read_back_is_reported),
		cmocka_unit_test(bits_that_all_events_share_are_restored),
		cmocka_unit_test(equal_chunks_take_almost_no_memory),
		cmocka_unit_test(traces_can_be_changed_in_full_chunks_and_in_the_last_one),
		cmocka_unit_test(events_are_sorted_by_stamp_and_then_by_arrival),
		cmocka_unit_test(events_far_from_their_place_are_sorted),
		cmocka_unit_test(events_that_were_emitted_too_early_are_sorted_again),
		cmocka_unit_test(events_of_the_second_part_follow_the_first),
		cmocka_unit_test(an_empty_list_of_events_can_be_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
