/* SPDX-License-Identifier: MIT */
/* Follows recordings that grow: by any number of bytes, out of order, and under another file. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "reader/follow/follow.h"
#include "recording_file.h"
#include "temporary_file.h"

#define SECOND UINT64_C(1000000000)

static struct recording_file file;
static uint64_t events;

static void begin(void)
{
	events = 0;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_time_ns = 1,
		.host = slice("here"), .executable = slice("/bin/x"), .command = slice("x"),
		.directory = slice("/"));
}

static void put_event(uint64_t stamp, enum gmt_event_kind kind, uint64_t address,
	uint64_t size_bytes)
{
	events++;
	RECORDING_PUT(&file, EVENT, gmt_event, .stamp = stamp, .thread = (uint32_t)address,
		.kind = kind, .layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = address,
		.size_bytes = size_bytes);
}

/* The recorder's sync: everything before this moment is in the file. */
static void put_sync(uint64_t stamp)
{
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = stamp, .events = events);
	recording_file_sync(&file);
}

static struct gmt_follow *open_growing(void)
{
	struct gmt_follow *follow;
	struct gmt_error error;

	assert_int_equal(gmt_follow_open(path, GMT_FOLLOW_GROWING, NULL, &follow, &error), GMT_OK);
	return follow;
}

static void read_all(struct gmt_follow *follow)
{
	struct gmt_error error = { 0 };

	assert_int_equal(gmt_follow_read(follow, UINT64_MAX, &error), GMT_END);
}

static uint64_t live_bytes(const struct gmt_follow *follow)
{
	const struct gmt_account *account =
		gmt_accounting_find_account(&follow->accounting, GMT_LAYER_CUDA, 0);

	return account ? account->live_bytes : 0;
}

/* Writes a recording with two sync records, its end, and a step between. */
static void write_whole(void)
{
	begin();
	put_event(1 * SECOND, GMT_KIND_ALLOC, 16, 100);
	put_event(2 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	RECORDING_PUT(&file, MARK, gmt_mark, .stamp = 2 * SECOND, .kind = GMT_MARK_KIND_STEP,
		.source = GMT_MARK_SOURCE_PROGRAM);
	put_sync(3 * SECOND);
	put_event(3 * SECOND, GMT_KIND_FREE, 16, 0);
	RECORDING_PUT(&file, MARK, gmt_mark, .stamp = 4 * SECOND, .kind = GMT_MARK_KIND_STEP,
		.source = GMT_MARK_SOURCE_PROGRAM);
	put_sync(5 * SECOND);
	put_event(5 * SECOND, GMT_KIND_ALLOC, 48, 10000);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 6 * SECOND, .events = events);
	recording_file_close(&file);
}

static size_t read_file(uint8_t *bytes, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, bytes, size);

	close(fd);
	assert_true(got > 0 && (size_t)got < size);
	return (size_t)got;
}

static void a_file_is_followed_whatever_the_sizes_by_which_it_grows(void **state)
{
	static uint8_t bytes[65536];
	size_t length;

	(void)state;
	write_whole();
	length = read_file(bytes, sizeof(bytes));
	for (size_t step = 1; step < length; step = step < 20 ? step + 1 : step * 2) {
		struct gmt_follow *follow = NULL;
		struct gmt_error error;
		uint64_t last_live_bytes = 0;
		int fd = open(path, O_WRONLY | O_TRUNC);

		for (size_t at = 0; at < length; at += step) {
			size_t part = step < length - at ? step : length - at;

			assert_int_equal(write(fd, bytes + at, part), (ssize_t)part);
			/* Before its header is complete, the file cannot be opened. */
			if (!follow && gmt_follow_open(path, GMT_FOLLOW_GROWING, NULL, &follow, &error))
				continue;
			read_all(follow);
			assert_false(follow->is_replaced);
			assert_false(follow->is_late);
			if (live_bytes(follow) != last_live_bytes)
				last_live_bytes = live_bytes(follow);
			assert_true(last_live_bytes == 0 || last_live_bytes == 1100 ||
				last_live_bytes == 1000 || last_live_bytes == 11000);
		}
		assert_non_null(follow);
		assert_true(follow->has_ended);
		assert_int_equal(live_bytes(follow), 11000);
		assert_int_equal(gmt_follow_marks_steps(&follow->marks)->steps, 2);
		assert_int_equal(follow->recording->seen_events, 4);
		gmt_follow_close(follow);
		close(fd);
	}
}

static void events_wait_until_they_are_certainly_in_order(void **state)
{
	struct gmt_follow *follow;

	(void)state;
	begin();
	put_event(2 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	put_event(2 * SECOND + GMT_FOLLOW_WAIT_NS, GMT_KIND_ALLOC, 48, 10000);
	put_sync(2 * SECOND + GMT_FOLLOW_WAIT_NS);
	follow = open_growing();
	read_all(follow);
	assert_int_equal(live_bytes(follow), 1000);
	/* Another thread's event, earlier than one that was read before it. */
	put_event(2 * SECOND + 1, GMT_KIND_ALLOC, 64, 100000);
	put_sync(4 * SECOND);
	read_all(follow);
	assert_int_equal(live_bytes(follow), 111000);
	assert_false(follow->is_late);
	gmt_follow_close(follow);
	recording_file_close(&file);
}

static void an_event_that_comes_too_late_is_noticed(void **state)
{
	struct gmt_follow *follow;
	struct gmt_error error;

	(void)state;
	begin();
	put_event(2 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	put_sync(4 * SECOND);
	follow = open_growing();
	read_all(follow);
	put_event(1 * SECOND, GMT_KIND_ALLOC, 48, 10000);
	put_sync(5 * SECOND);
	read_all(follow);
	assert_true(follow->is_late);
	gmt_follow_close(follow);
	/* Read from its beginning and put in order as a whole, it is right. */
	assert_int_equal(gmt_follow_open(path, GMT_FOLLOW_DISORDERED, NULL, &follow, &error), GMT_OK);
	read_all(follow);
	assert_true(live_bytes(follow) == 11000 && !follow->is_late);
	put_event(6 * SECOND, GMT_KIND_ALLOC, 64, 1);
	put_sync(7 * SECOND);
	read_all(follow);
	assert_true(live_bytes(follow) == 11001 && !follow->is_late);
	gmt_follow_close(follow);
	recording_file_close(&file);
}

static void another_file_with_the_name_is_noticed(void **state)
{
	struct gmt_follow *follow;
	char other[80], old[80];

	(void)state;
	begin();
	put_event(2 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	put_sync(4 * SECOND);
	follow = open_growing();
	read_all(follow);
	assert_false(follow->is_replaced);
	snprintf(other, sizeof(other), "%s.other", path);
	snprintf(old, sizeof(old), "%s.old", path);
	close(open(other, O_WRONLY | O_CREAT, 0600));
	/* A file without a name could not be closed. */
	assert_int_equal(link(path, old), 0);
	assert_int_equal(rename(other, path), 0);
	read_all(follow);
	assert_true(follow->is_replaced);
	gmt_follow_close(follow);
	recording_file_close(&file);
	unlink(old);
}

static void blocks_that_the_interpreter_releases_at_its_end_are_not_counted(void **state)
{
	struct gmt_follow *follow;
	struct gmt_error error;

	(void)state;
	begin();
	put_event(1 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	RECORDING_PUT(&file, MARK, gmt_mark, .stamp = 2 * SECOND, .kind = GMT_MARK_KIND_TEARDOWN,
		.source = GMT_MARK_SOURCE_INTERPRETER);
	put_event(3 * SECOND, GMT_KIND_FREE, 32, 0);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 4 * SECOND, .events = events);
	recording_file_close(&file);
	assert_int_equal(gmt_follow_open(path, GMT_FOLLOW_ENDED, NULL, &follow, &error), GMT_OK);
	read_all(follow);
	assert_int_equal(live_bytes(follow), 1000);
	assert_int_equal(gmt_follow_now_ns(follow), 2 * SECOND);
	gmt_follow_close(follow);
}

static void growth_counts_the_last_seconds_only(void **state)
{
	struct gmt_follow *follow;
	const struct gmt_follow_seconds *growth;

	(void)state;
	begin();
	put_event(1 * SECOND, GMT_KIND_ALLOC, 32, 1000);
	put_event(5 * SECOND, GMT_KIND_ALLOC, 48, 10000);
	put_event(6 * SECOND, GMT_KIND_FREE, 32, 0);
	put_sync(30 * SECOND);
	follow = open_growing();
	read_all(follow);
	/* Blocks without a stack have one site. */
	assert_int_equal(follow->sites.count, 1);
	growth = &follow->sites.items[0].growth;
	assert_int_equal(gmt_follow_seconds_sum(growth, 6), 10000);
	assert_int_equal(gmt_follow_seconds_sum(growth, 11), 9000);
	assert_int_equal(gmt_follow_seconds_sum(growth, 15), -1000);
	assert_int_equal(gmt_follow_seconds_sum(growth, 16), 0);
	assert_int_equal(gmt_follow_curve_at(&follow->curves.items[0], 0, 30), 0);
	assert_int_equal(gmt_follow_curve_at(&follow->curves.items[0], 3, 30), 1000);
	assert_int_equal(gmt_follow_curve_at(&follow->curves.items[0], 6, 30), 11000);
	assert_int_equal(gmt_follow_curve_at(&follow->curves.items[0], 29, 30), 10000);
	assert_int_equal(gmt_follow_curve_at(&follow->curves.items[0], 31, 30), 0);
	gmt_follow_close(follow);
	recording_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_followed_whatever_the_sizes_by_which_it_grows,
			path_setup, path_teardown),
		cmocka_unit_test_setup_teardown(events_wait_until_they_are_certainly_in_order, path_setup,
			path_teardown),
		cmocka_unit_test_setup_teardown(an_event_that_comes_too_late_is_noticed, path_setup,
			path_teardown),
		cmocka_unit_test_setup_teardown(another_file_with_the_name_is_noticed, path_setup,
			path_teardown),
		cmocka_unit_test_setup_teardown(
			blocks_that_the_interpreter_releases_at_its_end_are_not_counted, path_setup,
			path_teardown),
		cmocka_unit_test_setup_teardown(growth_counts_the_last_seconds_only, path_setup,
			path_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
