/* SPDX-License-Identifier: MIT */
/*
 * The map of loaded objects while the thread that holds its lock stands still: the recorder still
 * notes a library before it is unloaded.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/rule_cache.h"
#include "runtime/config.h"
#include "producer/clock.h"
#include "unwind/object_map.h"
#include "runtime/log.h"
#include "interpose/loaded_objects.h"

enum { STOPPED_MS = 300, TOO_LONG_MS = 10000 };

/* Stand-ins for what object_map.c needs from the rest of the recorder. */
struct gmt_config gmt_config;

static _Atomic bool is_visiting; /* a thread visits the map and holds its lock */
static _Atomic int sleep_ms; /* the visiting thread sleeps so long */
static _Atomic int note_count;

void gmt_rule_cache_pause(void)
{
}

void gmt_rule_cache_resume(bool forget)
{
	(void)forget;
}

void gmt_log_note(const char *text)
{
	assert_non_null(strstr(text, "may have no name"));
	atomic_fetch_add(&note_count, 1);
}

uint64_t gmt_clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void gmt_objects_visit(int (*look)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument)
{
	atomic_store(&is_visiting, true);
	usleep((useconds_t)atomic_exchange(&sleep_ms, 0) * 1000);
	dl_iterate_phdr(look, argument);
	atomic_store(&is_visiting, false);
}

static void *scan(void *unused)
{
	gmt_object_map_scan();
	return unused;
}

/* Starts a thread that scans, and returns when that thread sleeps inside the scan. */
static pthread_t start_scan(int for_ms)
{
	pthread_t thread;

	gmt_object_map_mark_used();
	atomic_store(&sleep_ms, for_ms);
	assert_int_equal(pthread_create(&thread, NULL, scan, NULL), 0);
	while (!atomic_load(&is_visiting))
		usleep(100);
	/* A stack was taken since the scan began, so another scan is needed. */
	gmt_object_map_mark_used();
	return thread;
}

static void a_library_is_recorded_before_it_is_unloaded_while_the_writer_is_stopped(void **state)
{
	pthread_t thread = start_scan(STOPPED_MS);
	struct gmt_object_map_row module;

	(void)state;
	gmt_object_map_scan_before_unload();
	assert_false(atomic_load(&is_visiting));
	assert_true(gmt_object_map_get(0, &module));
	assert_int_equal(atomic_load(&note_count), 0);
	pthread_join(thread, NULL);
}

static void the_wait_for_the_writer_is_limited_and_leaves_a_note(void **state)
{
	uint64_t start_ns = gmt_clock_monotonic_ns();
	pthread_t thread = start_scan(TOO_LONG_MS);

	(void)state;
	gmt_object_map_scan_before_unload();
	assert_true(atomic_load(&is_visiting));
	assert_true(gmt_clock_monotonic_ns() - start_ns < (uint64_t)TOO_LONG_MS * 1000000);
	assert_int_equal(atomic_load(&note_count), 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_is_recorded_before_it_is_unloaded_while_the_writer_is_stopped),
		cmocka_unit_test(the_wait_for_the_writer_is_limited_and_leaves_a_note),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
