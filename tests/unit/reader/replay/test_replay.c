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
#include "reader/load/snapshot.h"
#include "snapshot_file.h"
#include "temporary.h"

static struct snapshot_file file;

static void begin(void)
{
	snapshot_file_open(&file, path, 6);
	SNAPSHOT_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_time_ns = 1000000,
		.start_stamp = 500, .host = slice("here"), .executable = slice("/bin/x"),
		.command = slice("x"), .directory = slice("/"));
}

static struct gmt_snapshot *load(void)
{
	struct gmt_snapshot *snapshot;
	struct gmt_error error;

	snapshot_file_close(&file);
	assert_int_equal(gmt_snapshot_load(path, NULL, &snapshot, &error), GMT_OK);
	return snapshot;
}

static void put_event(uint64_t stamp, uint32_t thread, enum gmt_kind kind, uint64_t address,
	uint64_t size_bytes)
{
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .stamp = stamp, .thread = thread, .kind = kind,
		.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = address,
		.size_bytes = size_bytes);
}

static void events_of_all_threads_come_in_the_order_of_time(void **state)
{
	static const uint64_t expected[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	put_event(20, 1, GMT_KIND_ALLOC, 2, 1);
	put_event(40, 1, GMT_KIND_ALLOC, 4, 1);
	put_event(60, 1, GMT_KIND_ALLOC, 6, 1);
	put_event(10, 2, GMT_KIND_ALLOC, 1, 1);
	put_event(30, 2, GMT_KIND_ALLOC, 3, 1);
	put_event(50, 3, GMT_KIND_ALLOC, 5, 1);
	put_event(60, 3, GMT_KIND_ALLOC, 7, 1); /* the same stamp: the file's order */
	snapshot = load();
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(gmt_snapshot_event(snapshot, i).address, expected[i]);
	gmt_snapshot_free(snapshot);
}

static void a_thread_keeps_its_own_order_when_its_clock_goes_back(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	put_event(100, 1, GMT_KIND_ALLOC, 1, 1);
	put_event(70, 1, GMT_KIND_FREE, 1, 0);
	put_event(90, 2, GMT_KIND_ALLOC, 9, 1);
	snapshot = load();
	assert_int_equal(gmt_snapshot_event(snapshot, 0).address, 9);
	assert_int_equal(gmt_snapshot_event(snapshot, 1).kind, GMT_KIND_ALLOC);
	assert_int_equal(gmt_snapshot_event(snapshot, 2).kind, GMT_KIND_FREE);
	gmt_snapshot_free(snapshot);
}

static void many_threads_are_merged_into_one_order(void **state)
{
	enum { THREADS = 37, EVENTS = 200 };
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	for (uint32_t thread = 1; thread <= THREADS; thread++)
		for (uint64_t i = 0; i < EVENTS; i++)
			put_event(1000 + i * 100 + (thread * 29) % 100, thread, GMT_KIND_ALLOC,
				1 + thread + i * 1000, 1);
	snapshot = load();
	assert_int_equal(snapshot->events.count, THREADS * EVENTS);
	for (size_t i = 1; i < snapshot->events.count; i++)
		assert_true(gmt_snapshot_event(snapshot, i - 1).stamp <=
			gmt_snapshot_event(snapshot, i).stamp);
	gmt_snapshot_free(snapshot);
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
			SNAPSHOT_PUT(&file, THREAD, gmt_thread, .id = (uint32_t)(i / 8192 + 1),
				.name = slice("t"));
		if (i % 8 == 0) {
			snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, gmt_hash_u64(i),
				gmt_hash_u64(~i));
			SNAPSHOT_PUT(&file, NAME, gmt_name, .id = (uint32_t)i + 1, .text = slice(text));
		}
		put_event(1000 + i, 1, GMT_KIND_ALLOC, gmt_hash_u64(i + 1), 1 + gmt_hash_u64(i) % 100000);
	}
}

static void a_large_file_reads_as_it_was_written_and_a_cut_one_up_to_there(void **state)
{
	enum { EVENTS = 40000, CUT_BYTES = 300 << 10 };
	struct gmt_snapshot *snapshot;
	struct gmt_error error;
	char text[2 * 16 + 1];

	(void)state;
	write_large_file(EVENTS);
	for (int cut = 0; cut < 2; cut++) {
		size_t names;

		snapshot = NULL;
		if (!cut) {
			snapshot = load();
			assert_true(snapshot->file_bytes > 2 * CUT_BYTES && !snapshot->damaged);
			assert_int_equal(snapshot->events.count, EVENTS);
		} else {
			assert_int_equal(truncate(path, CUT_BYTES), 0);
			assert_int_equal(gmt_snapshot_load(path, NULL, &snapshot, &error), GMT_OK);
			assert_true(snapshot->damaged);
			assert_in_range(snapshot->events.count, 1000, EVENTS - 1);
		}
		for (size_t i = 0; i < snapshot->events.count; i++)
			assert_true(gmt_snapshot_event(snapshot, i).address == gmt_hash_u64(i + 1));
		names = snapshot->names.count;
		assert_in_range(names, snapshot->events.count / 8, snapshot->events.count / 8 + 1);
		for (size_t i = 0; i < names; i++) {
			snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, gmt_hash_u64(i * 8),
				gmt_hash_u64(~(i * 8)));
			assert_string_equal(snapshot->names.items[i].text.text, text);
		}
		gmt_snapshot_free(snapshot);
	}
}

static void put_clock(uint64_t stamp, uint64_t monotonic_ns, uint64_t realtime_ns)
{
	SNAPSHOT_PUT(&file, CLOCK, gmt_clock, .stamp = stamp, .monotonic_ns = monotonic_ns,
		.realtime_ns = realtime_ns);
}

static void stamps_become_time_between_and_beyond_the_clock_records(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	put_clock(500, 7000, 1000000);
	put_clock(1500, 7500, 1000500); /* 2 ticks a ns */
	put_clock(1400, 9999, 1009999); /* does not advance: the reader ignores it */
	put_clock(2500, 8500, 1001500); /* 1 tick a ns */
	snapshot = load();
	assert_int_equal(gmt_clock_time_ns(snapshot, 500), 0);
	assert_int_equal(gmt_clock_time_ns(snapshot, 1001), 250);
	assert_int_equal(gmt_clock_time_ns(snapshot, 1500), 500);
	assert_int_equal(gmt_clock_time_ns(snapshot, 2000), 1000);
	assert_int_equal(gmt_clock_time_ns(snapshot, 2500), 1500);
	/* Outside of the clocks: the average rate, 2000 ticks in 1500 ns. */
	assert_int_equal(gmt_clock_time_ns(snapshot, 4500), 3000);
	assert_int_equal(gmt_clock_time_ns(snapshot, 0), 0);
	assert_int_equal(gmt_clock_time_of_epoch_ns(snapshot, 1000250), 250);
	assert_int_equal(gmt_clock_time_of_epoch_ns(snapshot, 1001000), 1000);
	assert_int_equal(gmt_clock_time_of_epoch_ns(snapshot, 5), 0);
	for (uint64_t stamp = 1; stamp < 6000; stamp++)
		assert_true(gmt_clock_time_ns(snapshot, stamp - 1) <= gmt_clock_time_ns(snapshot, stamp));
	assert_true(gmt_clock_time_ns(snapshot, UINT64_MAX) >=
		gmt_clock_time_ns(snapshot, UINT64_MAX / 2));
	gmt_snapshot_free(snapshot);
}

static void one_clock_record_makes_a_tick_a_nanosecond(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	put_clock(500, 7000, 1000000);
	snapshot = load();
	assert_int_equal(gmt_clock_time_ns(snapshot, 600), 100);
	assert_int_equal(gmt_clock_time_of_epoch_ns(snapshot, 1000100), 100);
	gmt_snapshot_free(snapshot);
}

static void a_recording_is_complete_only_with_its_end_and_all_it_counted(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	snapshot = load();
	assert_false(gmt_snapshot_complete(snapshot));
	assert_false(snapshot->damaged);
	gmt_snapshot_free(snapshot);

	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	SNAPSHOT_PUT(&file, END, gmt_end, .stamp = 2, .events = 1);
	snapshot = load();
	assert_true(gmt_snapshot_complete(snapshot));
	gmt_snapshot_free(snapshot);

	begin();
	SNAPSHOT_PUT(&file, SYNC, gmt_sync, .stamp = 2, .events = 1);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	SNAPSHOT_PUT(&file, END, gmt_end, .stamp = 2, .events = 1);
	snapshot = load();
	assert_true(snapshot->counts_differ);
	assert_false(gmt_snapshot_complete(snapshot));
	gmt_snapshot_free(snapshot);

	begin();
	SNAPSHOT_PUT(&file, END, gmt_end, .stamp = 2);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	snapshot = load();
	assert_false(gmt_snapshot_complete(snapshot));
	gmt_snapshot_free(snapshot);
}

static void the_last_drop_record_of_a_thread_and_reason_counts(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	SNAPSHOT_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("full"), .count = 5);
	SNAPSHOT_PUT(&file, DROP, gmt_drop, .thread = 2, .reason = slice("full"), .count = 100);
	SNAPSHOT_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("full"), .count = 9);
	SNAPSHOT_PUT(&file, DROP, gmt_drop, .thread = 1, .reason = slice("lost"), .count = 1000);
	snapshot = load();
	assert_int_equal(snapshot->drops.count, 3);
	assert_int_equal(gmt_snapshot_dropped(snapshot), 1109);
	assert_false(gmt_snapshot_complete(snapshot));
	gmt_snapshot_free(snapshot);
}

static void an_id_that_is_given_twice_keeps_its_first_meaning(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	begin();
	SNAPSHOT_PUT(&file, API, gmt_api, .id = 4000000000u, .name = slice("first"));
	SNAPSHOT_PUT(&file, API, gmt_api, .id = 4000000000u, .name = slice("second"));
	snapshot = load();
	assert_int_equal(snapshot->repeated_ids, 1);
	assert_string_equal(gmt_snapshot_api(snapshot, 4000000000u)->name.text, "first");
	assert_null(gmt_snapshot_api(snapshot, 0));
	gmt_snapshot_free(snapshot);
}

static void what_a_newer_version_writes_is_skipped_and_counted(void **state)
{
	struct gmt_snapshot *snapshot;
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
	snapshot_file_put_bytes(&file, block, sizeof(block));
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .layer = 200, .kind = GMT_KIND_ALLOC);
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .layer = GMT_LAYER_CUDA, .kind = 77);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	SNAPSHOT_PUT(&file, END, gmt_end, .stamp = 2, .events = 3);
	snapshot = load();
	assert_string_equal(snapshot->damage, "");
	assert_int_equal(snapshot->unknown_blocks, 1);
	assert_int_equal(snapshot->unknown_events, 2);
	assert_int_equal(snapshot->events.count, 1);
	assert_false(snapshot->counts_differ);
	gmt_snapshot_free(snapshot);
}

static void the_command_is_split_at_its_nuls(void **state)
{
	struct gmt_snapshot *snapshot;

	(void)state;
	snapshot_file_open(&file, path, 6);
	SNAPSHOT_PUT(&file, PROCESS, gmt_process, .command = { "a\0\0c", 4 });
	snapshot = load();
	assert_int_equal(snapshot->command.count, 3);
	assert_string_equal(snapshot->command.items[1], "");
	assert_string_equal(snapshot->command.items[2], "c");
	gmt_snapshot_free(snapshot);
}

static void a_file_without_a_process_holds_nothing_readable(void **state)
{
	struct gmt_snapshot *snapshot;
	struct gmt_error error;

	(void)state;
	snapshot_file_open(&file, path, 6);
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	snapshot_file_close(&file);
	assert_int_equal(gmt_snapshot_load(path, NULL, &snapshot, &error), GMT_FORMAT);
	assert_non_null(strstr(error.text, path));
	assert_non_null(strstr(error.text, "cannot be read"));
}

static void replay_stops_at_the_moment_that_is_asked_for(void **state)
{
	struct gmt_snapshot *snapshot;
	struct gmt_error error;

	(void)state;
	begin();
	put_clock(500, 1000, 1000000);
	put_clock(1500, 2000, 1001000);
	put_event(600, 1, GMT_KIND_ALLOC, 1, 10);
	put_event(700, 1, GMT_KIND_ALLOC, 2, 20);
	put_event(800, 1, GMT_KIND_FREE, 1, 0);
	snapshot = load();

	static const struct {
		uint64_t until_ns, events, live_bytes;
	} rows[] = { { 99, 0, 0 }, { 100, 1, 10 }, { 199, 1, 10 }, { 299, 2, 30 }, { 300, 3, 20 },
		{ GMT_REPLAY_TO_END, 3, 20 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gmt_traces traces = { 0 };
		struct gmt_replay replay = { 0 };
		struct gmt_traces_options options = { 0 };

		assert_int_equal(gmt_traces_init(&traces, snapshot, &options, &error), GMT_OK);
		assert_int_equal(gmt_replay_init(&replay, snapshot, &traces,
							 &(struct gmt_replay_options){ .until_ns = rows[i].until_ns }, &error),
			GMT_OK);
		assert_int_equal(replay.events, rows[i].events);
		const struct gmt_account *account =
			gmt_accounting_find_account(&replay.accounting, GMT_LAYER_CUDA, 0);
		assert_int_equal(account ? account->live_bytes : 0, rows[i].live_bytes);
		gmt_replay_fini(&replay);
		gmt_traces_fini(&traces);
	}
	gmt_snapshot_free(snapshot);
}

/*
 * More traces than the reader remembers, twice. Some differ only in the caller that they are for.
 */
static void events_of_thousands_of_traces_have_each_their_own(void **state)
{
	enum { COUNT = 9000 };
	struct gmt_event rows[COUNT];
	struct gmt_snapshot *snapshot;

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
		snapshot_file_put(&file, GMT_RECORD_EVENT, rows, COUNT);
	}
	snapshot = load();
	assert_int_equal(snapshot->events.count, 2 * COUNT);
	assert_int_equal(snapshot->traces.count, COUNT / 3 * 2); /* UINT32_MAX: for nobody */
	for (uint32_t i = 0; i < 2 * COUNT; i++) {
		const struct gmt_snapshot_event *event = gmt_events_at(snapshot->reader, i);
		const struct gmt_snapshot_trace *trace = &snapshot->traces.items[event->trace];

		assert_int_equal(trace->stack, event->address / 6);
		assert_int_equal(trace->frames, event->address / 3 % 2);
		assert_int_equal(trace->caller, event->address % 3 == 1 ? 5 : 0);
		assert_false(trace->requests_memory);
	}
	gmt_snapshot_free(snapshot);
}

static void events_of_unknown_kinds_and_layers_are_counted_and_left_out(void **state)
{
	struct gmt_snapshot *snapshot;
	uint64_t unknown = 0;

	(void)state;
	begin();
	put_event(1, 1, GMT_KIND_ALLOC, 1, 1);
	for (unsigned number = 0; number < 256; number++) {
		SNAPSHOT_PUT(&file, EVENT, gmt_event, .stamp = 2, .thread = 1, .kind = (uint8_t)number,
			.layer = GMT_LAYER_CUDA);
		SNAPSHOT_PUT(&file, EVENT, gmt_event, .stamp = 2, .thread = 1, .kind = GMT_KIND_ALLOC,
			.layer = (uint8_t)number);
		unknown += !gmt_kind_name(number);
		unknown += !gmt_layer_name(number);
	}
	snapshot = load();
	assert_int_equal(snapshot->seen_events, 513);
	assert_int_equal(snapshot->unknown_events, unknown);
	assert_int_equal(snapshot->events.count, 513 - unknown);
	gmt_snapshot_free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define MODEL_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		MODEL_TEST(events_of_all_threads_come_in_the_order_of_time),
		MODEL_TEST(a_thread_keeps_its_own_order_when_its_clock_goes_back),
		MODEL_TEST(many_threads_are_merged_into_one_order),
		MODEL_TEST(a_large_file_reads_as_it_was_written_and_a_cut_one_up_to_there),
		MODEL_TEST(stamps_become_time_between_and_beyond_the_clock_records),
		MODEL_TEST(one_clock_record_makes_a_tick_a_nanosecond),
		MODEL_TEST(a_recording_is_complete_only_with_its_end_and_all_it_counted),
		MODEL_TEST(the_last_drop_record_of_a_thread_and_reason_counts),
		MODEL_TEST(an_id_that_is_given_twice_keeps_its_first_meaning),
		MODEL_TEST(what_a_newer_version_writes_is_skipped_and_counted),
		MODEL_TEST(the_command_is_split_at_its_nuls),
		MODEL_TEST(a_file_without_a_process_holds_nothing_readable),
		MODEL_TEST(replay_stops_at_the_moment_that_is_asked_for),
		MODEL_TEST(events_of_thousands_of_traces_have_each_their_own),
		MODEL_TEST(events_of_unknown_kinds_and_layers_are_counted_and_left_out),
#undef MODEL_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
