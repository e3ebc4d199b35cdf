/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "containers/map.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "recording_file.h"
#include "temporary_file.h"

enum { ARENA = 1, INNER = 2, OTHER = 7 };

static struct recording_file file;
static struct gmt_recording *recording;
static struct gmt_traces traces;
static struct gmt_replay replay;
static uint64_t stamp;

static void begin(void)
{
	stamp = 500;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_stamp = 500,
		.host = slice("here"), .executable = slice("/bin/x"), .command = slice("x"),
		.directory = slice("/"));
}

static void put_event(enum gmt_event_kind kind, uint64_t heap, uint64_t address,
	uint64_t size_bytes)
{
	RECORDING_PUT(&file, EVENT, gmt_event, .stamp = ++stamp, .thread = 1, .kind = kind,
		.layer = GMT_LAYER_CUSTOM, .space = heap == OTHER ? GMT_SPACE_HEAP_HOST : GMT_SPACE_HEAP,
		.device = heap == OTHER ? GMT_DEVICE_HOST : 0, .address = address, .size_bytes = size_bytes,
		.object = heap);
}

static void put_name(uint64_t heap, uint32_t id, const char *name)
{
	RECORDING_PUT(&file, NAME, gmt_name, .id = id, .text = slice(name));
	RECORDING_PUT(&file, MARK, gmt_mark, .stamp = stamp, .thread = 1, .kind = GMT_MARK_KIND_HEAP,
		.source = GMT_MARK_SOURCE_NVTX, .name = id, .object = heap);
}

static void play(const struct gmt_replay_observer *observer)
{
	struct gmt_traces_options how = { 0 };
	struct gmt_replay_options options = {
		.until_ns = GMT_REPLAY_TO_END,
		.observers = observer,
		.observer_count = observer != NULL,
	};
	struct gmt_error error;

	recording_file_close(&file);
	assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_OK);
	assert_int_equal(recording->unknown_events + recording->unknown_marks, 0);
	assert_int_equal(gmt_traces_compute(&traces, recording, &how, &error), GMT_OK);
	assert_int_equal(gmt_replay_run(&replay, recording, &traces, &options, &error), GMT_OK);
}

static void end(void)
{
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
	memset(&replay, 0, sizeof(replay));
	memset(&traces, 0, sizeof(traces));
}

static uint64_t live_in(size_t heap)
{
	return replay.accounting.heaps.items[heap].live_bytes;
}

static void several_heaps_may_have_a_block_at_one_address(void **state)
{
	(void)state;
	begin();
	put_event(GMT_KIND_CREATE, ARENA, 0x1000, 4096);
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 1000);
	put_event(GMT_KIND_CREATE, INNER, 0x1000, 1000);
	put_event(GMT_KIND_ALLOC, INNER, 0x1000, 10);
	put_event(GMT_KIND_ALLOC, INNER, 0x1010, 20);
	put_event(GMT_KIND_FREE, ARENA, 0x1000, 0);
	put_name(ARENA, 1, "arena");
	put_name(INNER, 2, "inner");
	play(NULL);
	assert_int_equal(replay.heaps.count, 2);
	assert_string_equal(replay.heaps.items[0].name, "arena");
	assert_int_equal(live_in(0), 0);
	assert_int_equal(live_in(1), 30);
	assert_int_equal(replay.accounting.heaps.items[0].peak_bytes, 1000);
	assert_int_equal(replay.accounting.anomalies.missed_frees +
			replay.accounting.anomalies.unknown_frees,
		0);
	end();
}

static void a_free_without_a_heap_ends_the_block_of_the_heap_that_has_it(void **state)
{
	(void)state;
	begin();
	put_name(ARENA, 1, "arena");
	put_name(INNER, 2, "inner");
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 1000);
	put_event(GMT_KIND_ALLOC, INNER, 0x1000, 10);
	put_event(GMT_KIND_FREE, 0, 0x1000, 0); /* frees the inner heap's block, which came last */
	put_event(GMT_KIND_RESIZE, 0, 0x1000, 2000); /* resizes the arena's block */
	put_event(GMT_KIND_FREE, 0, 0x5000, 0); /* no heap's block: a label on something else */
	put_event(GMT_KIND_RESIZE, 0, 0x5000, 9);
	play(NULL);
	assert_int_equal(live_in(0), 2000);
	assert_int_equal(live_in(1), 0);
	assert_int_equal(replay.accounting.anomalies.unknown_frees, 0);
	end();
}

static void blocks_end_with_their_heap_and_a_heap_may_lack_its_creation(void **state)
{
	(void)state;
	begin();
	put_name(ARENA, 1, "step");
	put_name(INNER, 2, "step");
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 100);
	put_event(GMT_KIND_CREATE, ARENA, 0x1000, 4096); /* another thread was faster */
	put_event(GMT_KIND_ALLOC, ARENA, 0x2000, 50);
	put_event(GMT_KIND_RESET, ARENA, 0, 0);
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 7);
	put_event(GMT_KIND_DESTROY, ARENA, 0, 0);
	put_event(GMT_KIND_DESTROY, ARENA, 0, 0);
	put_event(GMT_KIND_CREATE, INNER, 0x1000, 1024);
	put_event(GMT_KIND_RESIZE, INNER, 0, 2048);
	put_event(GMT_KIND_ALLOC, INNER, 0x1000, 1);
	put_event(GMT_KIND_RESET, 99, 0, 0); /* never seen */
	play(NULL);
	assert_int_equal(replay.heaps.count, 1);
	assert_int_equal(replay.heaps.items[0].heaps, 2);
	assert_int_equal(replay.heaps.items[0].live_heaps, 1);
	assert_int_equal(replay.heaps.items[0].size_bytes, 2048);
	assert_int_equal(replay.heaps.items[0].max_size_bytes, 4096);
	assert_int_equal(replay.heaps.items[0].unsized_heaps, 0);
	assert_int_equal(replay.heaps.items[0].swept_blocks, 3);
	assert_int_equal(replay.heaps.items[0].swept_bytes, 157);
	assert_int_equal(live_in(0), 1);
	assert_int_equal(replay.accounting.anomalies.unknown_frees, 0);
	end();
}

static void lost_events_and_impossible_sizes_are_counted_and_change_nothing_else(void **state)
{
	(void)state;
	begin();
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 100);
	put_event(GMT_KIND_ALLOC, ARENA, 0x1000, 30); /* the recording lacks its free */
	put_event(GMT_KIND_FREE, ARENA, 0x9000, 0);
	put_event(GMT_KIND_FREE, 55, 0x9000, 0);
	put_event(GMT_KIND_ALLOC, ARENA, 0x2000, UINT64_MAX);
	put_event(GMT_KIND_RESIZE, ARENA, 0, UINT64_MAX);
	put_event(GMT_KIND_RESIZE, ARENA, 0, GMT_ACCOUNTING_MAX_BYTES);
	put_event(GMT_KIND_CREATE, INNER, 0, GMT_ACCOUNTING_MAX_BYTES);
	put_event(GMT_KIND_MAP, ARENA, 0x1000, 5);
	play(NULL);
	assert_int_equal(replay.accounting.anomalies.missed_frees, 1);
	assert_int_equal(replay.accounting.anomalies.unknown_frees, 2);
	assert_int_equal(replay.accounting.anomalies.impossible_sizes, 1);
	assert_int_equal(live_in(0), 30);
	/* Neither heap has a name, so both are one row. Only one of them has a possible size. */
	assert_int_equal(replay.heaps.items[0].size_bytes, GMT_ACCOUNTING_MAX_BYTES);
	assert_int_equal(replay.heaps.items[0].unsized_heaps, 1);
	end();
}

/* Blocks that began and did not end, by the number that the observer got. */
static struct gmt_map seen;
static uint64_t seen_bytes;

static bool on_began(void *user, const struct gmt_replay *of,
	const struct gmt_recording_event *event, uint32_t site)
{
	uint64_t before;

	(void)user, (void)of, (void)site;
	assert_int_equal(event->kind, GMT_KIND_ALLOC);
	assert_false(gmt_map_find(&seen, event->address, &before));
	seen_bytes += event->size_bytes;
	return gmt_map_put(&seen, event->address, event->size_bytes);
}

static bool on_ended(void *user, const struct gmt_replay *of,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	uint64_t size_bytes;

	(void)user, (void)of;
	assert_true(gmt_map_remove(&seen, event->address, &size_bytes));
	assert_int_equal(size_bytes, block->size_bytes);
	seen_bytes -= size_bytes;
	return true;
}

enum { HEAPS = 8, PLACES = 64, STEPS = 20000 };

static void over_random_events_heaps_equal_plain_bookkeeping_and_observers_see_each_block_once(
	void **state)
{
	static uint64_t sizes[HEAPS][PLACES];
	static const struct gmt_replay_observer observer = { .began = on_began, .ended = on_ended };
	uint64_t random = 3, plain = 0;

	(void)state;
	begin();
	for (int step = 0; step < STEPS; step++) {
		random = gmt_hash_u64(random);

		uint64_t heap = random % HEAPS, place = random >> 8 & (PLACES - 1),
				 size = 1 + (random >> 20 & 0xfff);
		if (random >> 40 & 1 || (random >> 41 & 0x3f) == 0) {
			enum gmt_event_kind kind = random >> 40 & 1 ? GMT_KIND_ALLOC : GMT_KIND_RESET;

			put_event(kind, heap + 1, kind == GMT_KIND_ALLOC ? 0x1000 + place : 0, size);
			if (kind == GMT_KIND_RESET)
				memset(sizes[heap], 0, sizeof(sizes[heap]));
			else
				sizes[heap][place] = size;
		} else {
			enum gmt_event_kind kind = random >> 47 & 1 ? GMT_KIND_FREE : GMT_KIND_RESIZE;

			put_event(kind, heap + 1, 0x1000 + place, kind == GMT_KIND_FREE ? 0 : size);
			if (kind == GMT_KIND_FREE || sizes[heap][place])
				sizes[heap][place] = kind == GMT_KIND_FREE ? 0 : size;
		}
	}
	play(&observer);
	for (int heap = 0; heap < HEAPS; heap++)
		for (int place = 0; place < PLACES; place++)
			plain += sizes[heap][place];
	/* Heap 7 is on the host. The other heaps have no name and one device: two rows in all. */
	assert_int_equal(replay.heaps.count, 2);
	assert_int_equal(live_in(0) + live_in(1), plain);
	assert_int_equal(seen_bytes, plain);
	assert_int_equal(gmt_accounting_block_count(&replay.accounting), seen.count);
	gmt_map_fini(&seen);
	end();
}

int main(void)
{
#define HEAP_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
	const struct CMUnitTest tests[] = {
		HEAP_TEST(several_heaps_may_have_a_block_at_one_address),
		HEAP_TEST(a_free_without_a_heap_ends_the_block_of_the_heap_that_has_it),
		HEAP_TEST(blocks_end_with_their_heap_and_a_heap_may_lack_its_creation),
		HEAP_TEST(lost_events_and_impossible_sizes_are_counted_and_change_nothing_else),
		HEAP_TEST(
			over_random_events_heaps_equal_plain_bookkeeping_and_observers_see_each_block_once),
	};

	return cmocka_run_group_tests_name("heaps", tests, NULL, NULL);
}
