/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "containers/map.h"
#include "reader/load/clock.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "recording_file.h"
#include "temporary_file.h"

static struct recording_file file;

static void begin(void)
{
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_time_ns = 1000000,
		.start_stamp = 500, .host = slice("here"), .executable = slice("/bin/x"),
		.command = slice("x"), .directory = slice("/"));
}

static struct gmt_recording *load(void)
{
	struct gmt_recording *recording;
	struct gmt_error error;

	recording_file_close(&file);
	assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_OK);
	return recording;
}

static void put_event(uint64_t stamp, uint32_t thread, enum gmt_event_kind kind, uint64_t address,
	uint64_t size_bytes)
{
	RECORDING_PUT(&file, EVENT, gmt_event, .stamp = stamp, .thread = thread, .kind = kind,
		.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = address,
		.size_bytes = size_bytes);
}

static void events_of_all_threads_are_replayed_in_order_of_time(void **state)
{
	static const uint64_t expected[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct gmt_recording *recording;

	(void)state;
	begin();
	put_event(20, 1, GMT_KIND_ALLOC, 2, 1);
	put_event(40, 1, GMT_KIND_ALLOC, 4, 1);
	put_event(60, 1, GMT_KIND_ALLOC, 6, 1);
	put_event(10, 2, GMT_KIND_ALLOC, 1, 1);
	put_event(30, 2, GMT_KIND_ALLOC, 3, 1);
	put_event(50, 3, GMT_KIND_ALLOC, 5, 1);
	put_event(60, 3, GMT_KIND_ALLOC, 7, 1); /* the same stamp: the file's order */
	recording = load();
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(gmt_recording_event(recording, i).address, expected[i]);
	gmt_recording_free(recording);
}

static void a_thread_keeps_its_own_order_when_its_clock_goes_back(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	put_event(100, 1, GMT_KIND_ALLOC, 1, 1);
	put_event(70, 1, GMT_KIND_FREE, 1, 0);
	put_event(90, 2, GMT_KIND_ALLOC, 9, 1);
	recording = load();
	assert_int_equal(gmt_recording_event(recording, 0).address, 9);
	assert_int_equal(gmt_recording_event(recording, 1).kind, GMT_KIND_ALLOC);
	assert_int_equal(gmt_recording_event(recording, 2).kind, GMT_KIND_FREE);
	gmt_recording_free(recording);
}

static void many_threads_are_merged_into_one_order(void **state)
{
	enum { THREADS = 37, EVENTS = 200 };
	struct gmt_recording *recording;

	(void)state;
	begin();
	for (uint32_t thread = 1; thread <= THREADS; thread++)
		for (uint64_t i = 0; i < EVENTS; i++)
			put_event(1000 + i * 100 + (thread * 29) % 100, thread, GMT_KIND_ALLOC,
				1 + thread + i * 1000, 1);
	recording = load();
	assert_int_equal(recording->events.count, THREADS * EVENTS);
	for (size_t i = 1; i < recording->events.count; i++)
		assert_true(gmt_recording_event(recording, i - 1).stamp <=
			gmt_recording_event(recording, i).stamp);
	gmt_recording_free(recording);
}

/*
 * Writes more than the reader reads without a thread (source/read_ahead.c). Its rows do not
 * compress, unlike a recorder's rows.
 */
static void write_large_file(uint64_t events)
{
	char text[2 * 16 + 1];

	begin();
	for (uint64_t i = 0; i < events; i++) {
		if (i % 8192 == 0)
			RECORDING_PUT(&file, THREAD, gmt_thread, .id = (uint32_t)(i / 8192 + 1),
				.name = slice("t"));
		if (i % 8 == 0) {
			snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, gmt_hash_u64(i),
				gmt_hash_u64(~i));
			RECORDING_PUT(&file, NAME, gmt_name, .id = (uint32_t)i + 1, .text = slice(text));
		}
		put_event(1000 + i, 1, GMT_KIND_ALLOC, gmt_hash_u64(i + 1), 1 + gmt_hash_u64(i) % 100000);
	}
}

static void a_large_file_is_read_whole_and_a_cut_file_up_to_the_cut(void **state)
{
	enum { EVENTS = 40000, CUT_BYTES = 300 << 10 };
	struct gmt_recording *recording;
	struct gmt_error error;
	char text[2 * 16 + 1];

	(void)state;
	write_large_file(EVENTS);
	for (int cut = 0; cut < 2; cut++) {
		size_t names;

		recording = NULL;
		if (!cut) {
			recording = load();
			assert_true(recording->file_bytes > 2 * CUT_BYTES && !recording->damaged);
			assert_int_equal(recording->events.count, EVENTS);
		} else {
			assert_int_equal(truncate(path, CUT_BYTES), 0);
			assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_OK);
			assert_true(recording->damaged);
			assert_in_range(recording->events.count, 1000, EVENTS - 1);
		}
		for (size_t i = 0; i < recording->events.count; i++)
			assert_true(gmt_recording_event(recording, i).address == gmt_hash_u64(i + 1));
		names = recording->names.count;
		assert_in_range(names, recording->events.count / 8, recording->events.count / 8 + 1);
		for (size_t i = 0; i < names; i++) {
			snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, gmt_hash_u64(i * 8),
				gmt_hash_u64(~(i * 8)));
			assert_string_equal(recording->names.items[i].text.text, text);
		}
		gmt_recording_free(recording);
	}
}

static void put_clock(uint64_t stamp, uint64_t monotonic_ns, uint64_t realtime_ns)
{
	RECORDING_PUT(&file, CLOCK, gmt_clock, .stamp = stamp, .monotonic_ns = monotonic_ns,
		.realtime_ns = realtime_ns);
}

static void stamps_between_and_beyond_clock_records_become_times(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	put_clock(500, 7000, 1000000);
	put_clock(1500, 7500, 1000500); /* 2 ticks a ns */
	put_clock(1400, 9999, 1009999); /* does not advance: the reader ignores it */
	put_clock(2500, 8500, 1001500); /* 1 tick a ns */
	recording = load();
	assert_int_equal(gmt_clock_time_ns(recording, 500), 0);
	assert_int_equal(gmt_clock_time_ns(recording, 1001), 250);
	assert_int_equal(gmt_clock_time_ns(recording, 1500), 500);
	assert_int_equal(gmt_clock_time_ns(recording, 2000), 1000);
	assert_int_equal(gmt_clock_time_ns(recording, 2500), 1500);
	/* Outside of the clocks: the average rate, 2000 ticks in 1500 ns. */
	assert_int_equal(gmt_clock_time_ns(recording, 4500), 3000);
	assert_int_equal(gmt_clock_time_ns(recording, 0), 0);
	assert_int_equal(gmt_clock_time_of_epoch_ns(recording, 1000250), 250);
	assert_int_equal(gmt_clock_time_of_epoch_ns(recording, 1001000), 1000);
	assert_int_equal(gmt_clock_time_of_epoch_ns(recording, 5), 0);
	for (uint64_t stamp = 1; stamp < 6000; stamp++)
		assert_true(gmt_clock_time_ns(recording, stamp - 1) <= gmt_clock_time_ns(recording, stamp));
	assert_true(gmt_clock_time_ns(recording, UINT64_MAX) >=
		gmt_clock_time_ns(recording, UINT64_MAX / 2));
	gmt_recording_free(recording);
}

static void one_clock_record_makes_a_tick_a_nanosecond(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	put_clock(500, 7000, 1000000);
	recording = load();
	assert_int_equal(gmt_clock_time_ns(recording, 600), 100);
	assert_int_equal(gmt_clock_time_of_epoch_ns(recording, 1000100), 100);
	gmt_recording_free(recording);
}

static void a_recording_is_complete_only_with_its_end_and_all_counted_events(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	recording = load();
	assert_false(gmt_recording_complete(recording));
	assert_false(recording->damaged);
	gmt_recording_free(recording);

	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 2, .events = 1);
	recording = load();
	assert_true(gmt_recording_complete(recording));
	gmt_recording_free(recording);

	begin();
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 2, .events = 1);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 2, .events = 1);
	recording = load();
	assert_true(recording->counts_differ);
	assert_false(gmt_recording_complete(recording));
	gmt_recording_free(recording);

	begin();
	RECORDING_PUT(&file, END, gmt_end, .stamp = 2);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	recording = load();
	assert_false(gmt_recording_complete(recording));
	gmt_recording_free(recording);
}

static void the_last_drop_record_of_a_thread_and_reason_counts(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	RECORDING_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("full"), .count = 5);
	RECORDING_PUT(&file, DROP, gmt_drop, .thread = 2, .reason = slice("full"), .count = 100);
	RECORDING_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("full"), .count = 9);
	RECORDING_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("lost"), .count = 1000);
	recording = load();
	assert_int_equal(recording->drops.count, 3);
	assert_int_equal(gmt_recording_dropped(recording), 1109);
	assert_false(gmt_recording_complete(recording));
	gmt_recording_free(recording);
}

static void the_first_definition_of_an_id_counts(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	begin();
	RECORDING_PUT(&file, API, gmt_api, .id = 4000000000u, .name = slice("first"));
	RECORDING_PUT(&file, API, gmt_api, .id = 4000000000u, .name = slice("second"));
	recording = load();
	assert_int_equal(recording->repeated_ids, 1);
	assert_string_equal(gmt_recording_api(recording, 4000000000u)->name.text, "first");
	assert_null(gmt_recording_api(recording, 0));
	gmt_recording_free(recording);
}

static void records_of_a_newer_version_are_skipped_and_counted(void **state)
{
	struct gmt_recording *recording;
	/* Kind 999, one row of one byte. The checksum comes from zlib's crc32. */
	static const uint8_t block[] = {
		0xe7,
		0x03,
		0,
		0,
		1,
		0,
		0,
		0,
		1,
		0,
		0,
		0,
		0x9e,
		0xa9,
		0xc5,
		0xdf,
		'x',
	};

	(void)state;
	begin();
	recording_file_put_bytes(&file, block, sizeof(block));
	RECORDING_PUT(&file, EVENT, gmt_event, .layer = 200, .kind = GMT_KIND_ALLOC);
	RECORDING_PUT(&file, EVENT, gmt_event, .layer = GMT_LAYER_CUDA, .kind = 77);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 2, .events = 3);
	recording = load();
	assert_string_equal(recording->damage, "");
	assert_int_equal(recording->unknown_blocks, 1);
	assert_int_equal(recording->unknown_events, 2);
	assert_int_equal(recording->events.count, 1);
	assert_false(recording->counts_differ);
	gmt_recording_free(recording);
}

static void the_command_is_split_at_nul_bytes(void **state)
{
	struct gmt_recording *recording;

	(void)state;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .command = { "a\0\0c", 4 });
	recording = load();
	assert_int_equal(recording->command.count, 3);
	assert_string_equal(recording->command.items[1], "");
	assert_string_equal(recording->command.items[2], "c");
	gmt_recording_free(recording);
}

static void a_file_without_a_process_record_is_unreadable(void **state)
{
	struct gmt_recording *recording;
	struct gmt_error error;

	(void)state;
	recording_file_open(&file, path, 6);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	recording_file_close(&file);
	assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_FORMAT);
	assert_non_null(strstr(error.text, path));
	assert_non_null(strstr(error.text, "cannot be read"));
}

static void replay_stops_at_the_requested_moment(void **state)
{
	struct gmt_recording *recording;
	struct gmt_error error;

	(void)state;
	begin();
	put_clock(500, 1000, 1000000);
	put_clock(1500, 2000, 1001000);
	put_event(600, 1, GMT_KIND_ALLOC, 1, 10);
	put_event(700, 1, GMT_KIND_ALLOC, 2, 20);
	put_event(800, 1, GMT_KIND_FREE, 1, 0);
	recording = load();

	static const struct {
		uint64_t until_ns, events, live_bytes;
	} rows[] = { { 99, 0, 0 }, { 100, 1, 10 }, { 199, 1, 10 }, { 299, 2, 30 }, { 300, 3, 20 },
		{ GMT_REPLAY_TO_END, 3, 20 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gmt_traces traces = { 0 };
		struct gmt_replay replay = { 0 };
		struct gmt_traces_options options = { 0 };

		assert_int_equal(gmt_traces_compute(&traces, recording, &options, &error), GMT_OK);
		assert_int_equal(gmt_replay_run(&replay, recording, &traces,
							 &(struct gmt_replay_options){ .until_ns = rows[i].until_ns }, &error),
			GMT_OK);
		assert_int_equal(replay.events, rows[i].events);
		const struct gmt_account *account =
			gmt_accounting_find_account(&replay.accounting, GMT_LAYER_CUDA, 0);
		assert_int_equal(account ? account->live_bytes : 0, rows[i].live_bytes);
		gmt_replay_fini(&replay);
		gmt_traces_fini(&traces);
	}
	gmt_recording_free(recording);
}

/*
 * More traces than the reader remembers, twice. Some differ only in the caller that they are for.
 */
static void events_of_thousands_of_traces_keep_their_traces(void **state)
{
	enum { COUNT = 9000 };
	struct gmt_event rows[COUNT];
	struct gmt_recording *recording;

	(void)state;
	begin();
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < COUNT; i++)
			rows[i] = (struct gmt_event){
				.stamp = 1 + turn * COUNT + i,
				.thread = 1,
				.kind = GMT_KIND_FREE,
				.layer = GMT_LAYER_CUDA,
				.address = i,
				.stack = i / 6,
				.frames = i / 3 % 2,
				.caller = (uint32_t[]){ 0, 5, UINT32_MAX }[i % 3],
			};
		recording_file_put(&file, GMT_RECORD_EVENT, rows, COUNT);
	}
	recording = load();
	assert_int_equal(recording->events.count, 2 * COUNT);
	assert_int_equal(recording->traces.count, COUNT / 3 * 2); /* UINT32_MAX: no thread */
	for (uint32_t i = 0; i < 2 * COUNT; i++) {
		const struct gmt_recording_event *event = gmt_events_at(recording->reader, i);
		const struct gmt_recording_stack_ids *trace = &recording->traces.items[event->trace];

		assert_int_equal(trace->stack, event->address / 6);
		assert_int_equal(trace->frames, event->address / 3 % 2);
		assert_int_equal(trace->caller, event->address % 3 == 1 ? 5 : 0);
		assert_false(trace->requests_memory);
	}
	gmt_recording_free(recording);
}

static void events_of_unknown_kinds_and_layers_are_counted_and_skipped(void **state)
{
	struct gmt_recording *recording;
	uint64_t unknown = 0;

	(void)state;
	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	for (unsigned number = 0; number < 256; number++) {
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = 2, .thread = 1, .kind = (uint8_t)number,
			.layer = GMT_LAYER_CUDA);
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = 2, .thread = 1, .kind = GMT_KIND_ALLOC,
			.layer = (uint8_t)number);
		unknown += !gmt_event_kind_name(number);
		unknown += !gmt_layer_name(number);
	}
	recording = load();
	assert_int_equal(recording->seen_events, 513);
	assert_int_equal(recording->unknown_events, unknown);
	assert_int_equal(recording->events.count, 513 - unknown);
	gmt_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		REPLAY_TEST(events_of_all_threads_are_replayed_in_order_of_time),
		REPLAY_TEST(a_thread_keeps_its_own_order_when_its_clock_goes_back),
		REPLAY_TEST(many_threads_are_merged_into_one_order),
		REPLAY_TEST(a_large_file_is_read_whole_and_a_cut_file_up_to_the_cut),
		REPLAY_TEST(stamps_between_and_beyond_clock_records_become_times),
		REPLAY_TEST(one_clock_record_makes_a_tick_a_nanosecond),
		REPLAY_TEST(a_recording_is_complete_only_with_its_end_and_all_counted_events),
		REPLAY_TEST(the_last_drop_record_of_a_thread_and_reason_counts),
		REPLAY_TEST(the_first_definition_of_an_id_counts),
		REPLAY_TEST(records_of_a_newer_version_are_skipped_and_counted),
		REPLAY_TEST(the_command_is_split_at_nul_bytes),
		REPLAY_TEST(a_file_without_a_process_record_is_unreadable),
		REPLAY_TEST(replay_stops_at_the_requested_moment),
		REPLAY_TEST(events_of_thousands_of_traces_keep_their_traces),
		REPLAY_TEST(events_of_unknown_kinds_and_layers_are_counted_and_skipped),
#undef REPLAY_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
