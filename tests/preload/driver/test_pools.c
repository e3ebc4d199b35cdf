/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/config.h"
#include "driver/known_pools.h"
#include "producer/clock.h"
#include "driver/driver_queries.h"
#include "format/format.h"

enum { DEFAULT_POOL = 0x100, POOL = 0x200, OTHER = 0x300, THREADS = 4 };

struct gmt_config gmt_config;

/* Replaces the driver's answers about pools. */
uint64_t gmt_driver_default_pool(int device)
{
	usleep(1000); /* lets another thread ask too */
	return DEFAULT_POOL + (uint64_t)device;
}

unsigned gmt_driver_device_count(void)
{
	return 2;
}

static unsigned count(uint64_t handle)
{
	struct gmt_pool_info info;
	unsigned found = 0;

	for (unsigned i = 0; i < GMT_POOLS_MAX; i++)
		if (gmt_known_pools_hold(i, &info)) {
			found += info.handle == handle;
			gmt_known_pools_release(i);
		}
	return found;
}

static unsigned hold(uint64_t handle)
{
	struct gmt_pool_info info;

	for (unsigned i = 0; i < GMT_POOLS_MAX; i++) {
		if (!gmt_known_pools_hold(i, &info))
			continue;
		if (info.handle == handle)
			return i;
		gmt_known_pools_release(i);
	}
	return GMT_POOLS_MAX;
}

static void a_destroyed_pool_is_unknown(void **state)
{
	struct gmt_pool_info info;

	(void)state;
	gmt_known_pools_add(&(struct gmt_pool_info){ POOL, 1, GMT_POOL_MADE, false });
	assert_int_equal(gmt_known_pools_device_plus_1(POOL), 2);
	assert_true(gmt_known_pools_remove(POOL, &info));
	assert_true(info.handle == POOL && info.device == 1 && info.origin == GMT_POOL_MADE);
	assert_int_equal(count(POOL), 0);
	assert_false(gmt_known_pools_remove(POOL, &info));
}

static void managed_pools_have_managed_blocks(void **state)
{
	struct gmt_pool_info info;

	(void)state;
	gmt_known_pools_add(&(struct gmt_pool_info){ POOL, 1, GMT_POOL_DEFAULT, true });
	gmt_known_pools_add(&(struct gmt_pool_info){ OTHER, 1, GMT_POOL_DEFAULT, false });
	assert_int_equal(gmt_known_pools_space(POOL), GMT_SPACE_MANAGED);
	assert_int_equal(gmt_known_pools_space(OTHER), GMT_SPACE_POOL);
	assert_int_equal(gmt_known_pools_space(12345), GMT_SPACE_POOL);
	assert_true(gmt_known_pools_remove(POOL, &info) && info.is_managed);
	assert_true(gmt_known_pools_remove(OTHER, &info) && !info.is_managed);
}

static void a_pool_that_is_destroyed_during_a_query_is_not_queried_again(void **state)
{
	struct gmt_pool_info info;
	unsigned index;

	(void)state;
	gmt_known_pools_add(&(struct gmt_pool_info){ POOL, 1, GMT_POOL_MADE, false });
	index = hold(POOL);
	assert_true(index < GMT_POOLS_MAX);
	assert_true(gmt_known_pools_remove(POOL, &info));
	assert_true(info.handle == POOL && info.device == 1);
	gmt_known_pools_release(index);
	assert_int_equal(count(POOL), 0);

	/* The place is free for another pool, and for a new pool at the same address. */
	gmt_known_pools_add(&(struct gmt_pool_info){ POOL, 0, GMT_POOL_MADE, false });
	gmt_known_pools_add(&(struct gmt_pool_info){ OTHER, GMT_DEVICE_HOST, GMT_POOL_MADE, false });
	assert_int_equal(count(POOL), 1);
	assert_int_equal(gmt_known_pools_device_plus_1(OTHER), -1);
	assert_true(gmt_known_pools_remove(POOL, &info));
	assert_true(gmt_known_pools_remove(OTHER, &info));
}

static void *ask_default(void *unused)
{
	gmt_known_pools_add_default(0);
	return unused;
}

static void concurrent_threads_add_a_default_pool_once(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_default, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(count(DEFAULT_POOL), 1);
	assert_int_equal(gmt_known_pools_device_plus_1(DEFAULT_POOL + 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destroyed_pool_is_unknown),
		cmocka_unit_test(managed_pools_have_managed_blocks),
		cmocka_unit_test(a_pool_that_is_destroyed_during_a_query_is_not_queried_again),
		cmocka_unit_test(concurrent_threads_add_a_default_pool_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
