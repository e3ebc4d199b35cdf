/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/oom/ooms.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "recording_file.h"
#include "temporary_file.h"

enum { MIB = 1 << 20, OUT_OF_MEMORY = 2 };

static struct recording_file file;
static uint64_t now;

/* The results that tests check. */
static struct {
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_replay replay;
	struct gmt_ooms ooms;
} results;

static void begin(void)
{
	now = 1000;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_time_ns = 1000000,
		.start_stamp = 1000, .host = slice("here"), .executable = slice("/bin/x"),
		.command = slice("x"), .directory = slice("/"));
}

static void compute_until(uint64_t until_ns)
{
	struct gmt_error error;

	recording_file_close(&file);
	memset(&results, 0, sizeof(results));
	assert_int_equal(gmt_recording_load(path, NULL, &results.recording, &error), GMT_OK);
	assert_int_equal(gmt_traces_compute(&results.traces, results.recording,
						 &(struct gmt_traces_options){ 0 }, &error),
		GMT_OK);
	assert_int_equal(gmt_ooms_init(&results.ooms, results.recording, until_ns, &error), GMT_OK);

	struct gmt_replay_observer observer = gmt_ooms_observer(&results.ooms);
	struct gmt_replay_options options = {
		.until_ns = until_ns, .observers = &observer, .observer_count = 1
	};
	assert_int_equal(gmt_replay_run(&results.replay, results.recording, &results.traces, &options,
						 &error),
		GMT_OK);
}

static void compute(void)
{
	compute_until(GMT_REPLAY_TO_END);
}

static void free_results(void)
{
	gmt_ooms_fini(&results.ooms);
	gmt_replay_fini(&results.replay);
	gmt_traces_fini(&results.traces);
	gmt_recording_free(results.recording);
}

static struct gmt_event event_of(enum gmt_event_kind kind, enum gmt_layer layer, uint64_t address,
	uint64_t size_bytes)
{
	return (struct gmt_event){
		.stamp = ++now,
		.thread = 1,
		.kind = kind,
		.layer = layer,
		.space = GMT_SPACE_DEVICE,
		.address = address,
		.size_bytes = size_bytes,
		.result = kind == GMT_KIND_ALLOC_FAILED && layer == GMT_LAYER_CUDA ? OUT_OF_MEMORY : 0,
	};
}

#define PUT(kind, layer, address, size_bytes, ...) \
	do { \
		struct gmt_event row = \
			event_of(GMT_KIND_##kind, GMT_LAYER_##layer, (address), (size_bytes)); \
		__VA_ARGS__; \
		recording_file_put(&file, GMT_RECORD_EVENT, &row, 1); \
	} while (0)

/* Adds the driver's free and total memory at the previous event. */
static void put_driver_memory(int16_t device, uint64_t free_bytes, uint64_t total_bytes)
{
	RECORDING_PUT(&file, OOM, gmt_oom, .stamp = now, .thread = 1, .device = device,
		.free_bytes = free_bytes, .total_bytes = total_bytes);
}

static void expect_counts(uint64_t failures, uint64_t retries)
{
	assert_int_equal(results.ooms.failures, failures);
	assert_int_equal(results.ooms.retries, retries);
}

static void a_refusal_has_the_memory_of_that_moment(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC, CUDA, 0x1000000, 10 * MIB);
	PUT(ALLOC, CUDA, 0x9000000, 3 * MIB, row.device = 1);
	PUT(ALLOC_FAILED, CUDA, 0, 7 * MIB);
	put_driver_memory(0, 2 * MIB, 16 * MIB);
	PUT(FREE, CUDA, 0x1000000, 0);
	compute();
	expect_counts(1, 0);

	const struct gmt_oom_row *row = &results.ooms.rows.items[0];
	assert_int_equal(results.ooms.rows.count, 1);
	assert_int_equal(row->requested_bytes, 7 * MIB);
	assert_true(row->has_driver);
	assert_int_equal(row->free_bytes, 2 * MIB);
	assert_int_equal(row->total_bytes, 16 * MIB);
	assert_int_equal(row->live_bytes, 10 * MIB);
	assert_int_equal(row->layer, GMT_LAYER_CUDA);
	assert_int_equal(row->device, 0);
	assert_int_equal(row->time_ns, 3);
	assert_int_equal(row->site, results.replay.refusals.items[0].site);
	assert_false(row->has_cache);
	assert_false(row->has_hole);
	assert_false(row->recovered);
	assert_false(gmt_oom_would_fit(row));
	assert_int_equal(row->holder_count, 1);
	assert_int_equal(row->holders[0].bytes, 10 * MIB);
	free_results();
}

static void samples_of_another_thread_or_device_are_not_used(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC_FAILED, CUDA, 0, MIB, row.thread = 2);
	put_driver_memory(0, 1, 2);
	PUT(ALLOC_FAILED, CUDA, 0, MIB);
	put_driver_memory(1, 1, 2);
	PUT(ALLOC_FAILED, CUDA, 0, MIB);
	put_driver_memory(0, 0, 0);
	compute();
	expect_counts(3, 0);
	for (size_t i = 0; i < 3; i++)
		assert_false(results.ooms.rows.items[i].has_driver);
	free_results();
}

static void an_invalid_request_is_not_out_of_memory(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC_FAILED, CUDA, 0, 0, row.result = 1);
	compute();
	expect_counts(0, 0);
	free_results();
}

/*
 * PyTorch caches a segment of 10 MiB. The driver refuses 8 MiB `refusals` times, PyTorch frees the
 * cached segment, and the driver then grants `second_bytes`.
 */
static void put_retry(uint64_t refusals, uint64_t second_bytes, uint64_t torch_address)
{
	begin();
	PUT(ALLOC, CUDA, 0x1000000, 10 * MIB);
	PUT(ALLOC, TORCH, 0x1000000, 10 * MIB, row.allocated_bytes = row.reserved_bytes = 10 * MIB);
	PUT(FREE, TORCH, 0x1000000, 10 * MIB, row.reserved_bytes = 10 * MIB);
	for (uint64_t i = 0; i < refusals; i++) {
		PUT(ALLOC_FAILED, CUDA, 0, 8 * MIB);
		put_driver_memory(0, 6 * MIB, 16 * MIB);
	}
	PUT(FREE, CUDA, 0x1000000, 0);
	PUT(ALLOC, CUDA, 0x2000000, second_bytes);
	PUT(ALLOC, TORCH, torch_address, 7 * MIB, row.allocated_bytes = 7 * MIB,
		row.reserved_bytes = second_bytes);
}

static void a_request_that_succeeds_after_pytorch_frees_its_cache_is_one_retry(void **state)
{
	(void)state;
	for (uint64_t refusals = 1; refusals <= 3; refusals++) {
		put_retry(refusals, 8 * MIB, 0x2000000 + MIB);
		compute();
		expect_counts(0, 1);

		const struct gmt_oom_row *row = &results.ooms.rows.items[0];
		assert_int_equal(results.ooms.rows.count, 1);
		assert_true(row->recovered);
		assert_int_equal(row->driver_refusals, refusals);
		assert_int_equal(row->time_ns, 4);
		assert_int_equal(row->cached_bytes, 10 * MIB);
		assert_true(gmt_oom_would_fit(row));
		free_results();
	}
}

static void a_retry_by_the_program_is_still_a_refusal(void **state)
{
	(void)state;
	put_retry(1, 8 * MIB, 0x5000000); /* PyTorch's block is elsewhere */
	compute();
	expect_counts(1, 0);
	free_results();
	put_retry(1, 4 * MIB, 0x2000000 + MIB); /* PyTorch asked for less */
	compute();
	expect_counts(1, 0);
	free_results();
	begin();
	PUT(ALLOC_FAILED, CUDA, 0, 8 * MIB);
	PUT(ALLOC, CUDA, 0x2000000, 8 * MIB); /* no PyTorch */
	compute();
	expect_counts(1, 0);
	free_results();
}

static void a_success_in_another_thread_or_device_is_no_retry(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC_FAILED, CUDA, 0, 8 * MIB);
	PUT(ALLOC, CUDA, 0x2000000, 8 * MIB, row.thread = 2);
	PUT(ALLOC, TORCH, 0x2000000, 8 * MIB, row.thread = 2);
	PUT(ALLOC, CUDA, 0x3000000, 8 * MIB, row.device = 1);
	PUT(ALLOC, TORCH, 0x3000000, 8 * MIB, row.device = 1);
	compute();
	expect_counts(1, 0);
	free_results();
}

static void the_last_three_driver_refusals_belong_to_the_refusal_of_pytorch(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 5; i++)
		PUT(ALLOC_FAILED, CUDA, 0, 8 * MIB);
	PUT(ALLOC_FAILED, TORCH, 0, 7 * MIB, row.allocated_bytes = 3 * MIB,
		row.reserved_bytes = 4 * MIB);
	compute();
	expect_counts(3, 0);
	assert_int_equal(results.ooms.rows.count, 3);
	assert_int_equal(results.ooms.rows.items[0].driver_refusals, 1);
	assert_int_equal(results.ooms.rows.items[2].layer, GMT_LAYER_TORCH);
	assert_int_equal(results.ooms.rows.items[2].driver_refusals, 3);
	assert_int_equal(results.ooms.rows.items[2].requested_bytes, 7 * MIB);
	assert_int_equal(results.ooms.rows.items[2].cached_bytes, MIB);
	assert_int_equal(results.ooms.rows.items[2].reserved_bytes, 4 * MIB);
	free_results();
}

static void a_smaller_driver_refusal_is_separate_from_the_refusal_of_pytorch(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC_FAILED, CUDA, 0, 6 * MIB);
	PUT(ALLOC_FAILED, TORCH, 0, 7 * MIB);
	compute();
	expect_counts(2, 0);
	assert_int_equal(results.ooms.rows.items[1].driver_refusals, 0);
	free_results();
}

static void the_largest_gap_is_searched_only_in_segments_of_pytorch(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC, CUDA, 0x1000000, 10 * MIB);
	PUT(ALLOC, TORCH, 0x1000000 + 1 * MIB, 2 * MIB);
	PUT(ALLOC, TORCH, 0x1000000 + 6 * MIB, 2 * MIB); /* gaps of 1, 3 and 2 MiB */
	PUT(ALLOC, CUDA, 0x3000000, 12 * MIB); /* not PyTorch's */
	PUT(ALLOC, CUDA, 0x5000000, 4 * MIB);
	PUT(ALLOC, TORCH, 0x5000000, 2 * MIB);           /* a gap of 2 MiB */
	PUT(ALLOC, CUDA, 0x9000000, 9 * MIB, row.device = 1);
	PUT(ALLOC, TORCH, 0x9000000, 1 * MIB, row.device = 1);
	PUT(ALLOC_FAILED, TORCH, 0, 7 * MIB, row.allocated_bytes = 6 * MIB,
		row.reserved_bytes = 14 * MIB);
	put_driver_memory(0, 0, 26 * MIB);
	compute();

	const struct gmt_oom_row *row = &results.ooms.rows.items[0];
	assert_true(row->has_hole);
	assert_int_equal(row->hole_bytes, 3 * MIB);
	assert_int_equal(row->cached_bytes, 8 * MIB);
	assert_int_equal(row->cuda_bytes, 26 * MIB);
	assert_true(gmt_oom_would_fit(row));
	free_results();
}

static void a_request_fits_up_to_the_last_byte(void **state)
{
	struct gmt_oom_row row = {
		.has_driver = true, .requested_bytes = 10, .free_bytes = 4, .cached_bytes = 6
	};

	(void)state;
	assert_true(gmt_oom_would_fit(&row));
	row.requested_bytes = 11;
	assert_false(gmt_oom_would_fit(&row));
	row.free_bytes = 20;
	row.cached_bytes = 0;
	assert_true(gmt_oom_would_fit(&row));
	row.free_bytes = UINT64_MAX;
	row.cached_bytes = UINT64_MAX;
	assert_true(gmt_oom_would_fit(&row));
	row.has_driver = false;
	assert_false(gmt_oom_would_fit(&row));
}

static void put_stack(uint32_t id)
{
	uint64_t items[] = { id * 16 };

	RECORDING_PUT(&file, STACK, gmt_stack, .id = id, .items = { items, 1 });
}

static void holders_are_the_largest_ten_sites_then_and_of_pytorch_if_it_has_any(void **state)
{
	(void)state;
	begin();
	for (uint32_t id = 1; id <= 20; id++)
		put_stack(id);
	PUT(ALLOC, CUDA, 0x10000000, 100 * MIB, row.stack = 20);
	for (uint32_t id = 1; id <= 12; id++)
		PUT(ALLOC, TORCH, 0x10000000 + id * 0x10000, (id * 5 % 13) * 256, row.stack = id);
	PUT(ALLOC_FAILED, CUDA, 0, 200 * MIB);
	for (uint32_t id = 1; id <= 12; id++)
		PUT(FREE, TORCH, 0x10000000 + id * 0x10000, 0);
	compute();

	const struct gmt_oom_row *row = &results.ooms.rows.items[0];
	assert_int_equal(row->layer, GMT_LAYER_CUDA);
	assert_int_equal(row->holders_layer, GMT_LAYER_TORCH);
	assert_int_equal(row->live_bytes, 100 * MIB);
	assert_int_equal(row->held_bytes, 78 * 256);
	assert_int_equal(row->holder_count, GMT_OOMS_HOLDERS);
	for (uint32_t i = 0; i < GMT_OOMS_HOLDERS; i++) {
		assert_int_equal(row->holders[i].bytes, (12 - i) * 256);
		assert_int_equal(row->holders[i].blocks, 1);
	}
	free_results();
}

static void of_many_refusals_the_first_and_last_are_rows_and_all_are_counted(void **state)
{
	enum { MANY = 1000 };

	(void)state;
	begin();
	for (uint64_t i = 0; i < MANY; i++)
		PUT(ALLOC_FAILED, CUDA, 0, MIB + i);
	compute();
	expect_counts(MANY, 0);
	assert_int_equal(results.ooms.rows.count, GMT_OOMS_KEPT + 1);
	assert_int_equal(results.ooms.left_out, MANY - GMT_OOMS_KEPT - 1);
	assert_int_equal(results.ooms.rows.items[0].requested_bytes, MIB);
	assert_int_equal(results.ooms.rows.items[1].requested_bytes, MIB + MANY - GMT_OOMS_KEPT);
	assert_int_equal(results.ooms.rows.items[GMT_OOMS_KEPT].requested_bytes, MIB + MANY - 1);
	for (size_t i = 0; i < results.ooms.rows.count; i++)
		assert_int_equal(results.replay.refusals.items[results.ooms.rows.items[i].event].site,
			results.ooms.rows.items[i].site);
	free_results();
}

static void events_after_the_end_of_the_replay_are_ignored(void **state)
{
	(void)state;
	put_retry(1, 8 * MIB, 0x2000000 + MIB);
	compute_until(5); /* PyTorch has freed only its cache */
	expect_counts(1, 0);
	free_results();
}

static void host_memory_has_its_own_holders(void **state)
{
	(void)state;
	begin();
	PUT(ALLOC, TORCH, 0x1000000, 10 * MIB);
	PUT(ALLOC, CUDA, 0x7000000, 3 * MIB, row.space = GMT_SPACE_PINNED,
		row.device = GMT_DEVICE_HOST);
	PUT(ALLOC_FAILED, CUDA, 0, 7 * MIB, row.space = GMT_SPACE_PINNED, row.device = GMT_DEVICE_HOST);
	compute();
	expect_counts(1, 0);
	assert_int_equal(results.ooms.rows.items[0].device, GMT_DEVICE_HOST);
	assert_int_equal(results.ooms.rows.items[0].live_bytes, 3 * MIB);
	assert_int_equal(results.ooms.rows.items[0].holders_layer, GMT_LAYER_CUDA);
	assert_int_equal(results.ooms.rows.items[0].held_bytes, 3 * MIB);
	free_results();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, path_setup, path_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_refusal_has_the_memory_of_that_moment),
		TEST(samples_of_another_thread_or_device_are_not_used),
		TEST(an_invalid_request_is_not_out_of_memory),
		TEST(a_request_that_succeeds_after_pytorch_frees_its_cache_is_one_retry),
		TEST(a_retry_by_the_program_is_still_a_refusal),
		TEST(a_success_in_another_thread_or_device_is_no_retry),
		TEST(the_last_three_driver_refusals_belong_to_the_refusal_of_pytorch),
		TEST(a_smaller_driver_refusal_is_separate_from_the_refusal_of_pytorch),
		TEST(the_largest_gap_is_searched_only_in_segments_of_pytorch),
		TEST(a_request_fits_up_to_the_last_byte),
		TEST(holders_are_the_largest_ten_sites_then_and_of_pytorch_if_it_has_any),
		TEST(of_many_refusals_the_first_and_last_are_rows_and_all_are_counted),
		TEST(events_after_the_end_of_the_replay_are_ignored),
		TEST(host_memory_has_its_own_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
