/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python/python_cache.h"

enum { PLACES = 8192, THREADS = 4, ROUNDS = 300000 };

static struct gmt_python_cache *cache;

static int cache_setup(void **state)
{
	(void)state;
	if (!cache)
		cache = gmt_python_cache_create();
	gmt_python_cache_clear(cache);
	return !cache;
}

static struct gmt_python_key key_of(uint64_t number)
{
	return (struct gmt_python_key){
		.code = 0x7f0000000000 + number / 4 * 96, .instr = number % 4 * 2, .fingerprint = ~number
	};
}

static void only_added_entries_are_found(void **state)
{
	(void)state;
	struct gmt_python_key key = key_of(1);
	struct gmt_python_key others[] = { key, key, key };

	others[0].code += 8;
	others[1].instr += 2;
	others[2].fingerprint += 1;
	assert_int_equal(gmt_python_cache_find(cache, &key), 0);
	gmt_python_cache_add(cache, &key, 7);
	assert_int_equal(gmt_python_cache_find(cache, &key), 7);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(gmt_python_cache_find(cache, &others[i]), 0);
	/* Enough keys to reach each set many times. */
	for (others[1].instr = 4; others[1].instr < 200000; others[1].instr += 2)
		assert_int_equal(gmt_python_cache_find(cache, &others[1]), 0);
	for (others[0].code = 64; others[0].code < 2000000; others[0].code += 16)
		assert_int_equal(gmt_python_cache_find(cache, &others[0]), 0);
}

static void a_program_with_some_thousand_places_fits_the_cache(void **state)
{
	(void)state;
	uint32_t found = 0;

	for (uint32_t number = 0; number < PLACES / 2; number++) {
		struct gmt_python_key key = key_of(number);
		gmt_python_cache_add(cache, &key, number + 1);
	}
	for (uint32_t number = 0; number < PLACES / 2; number++) {
		struct gmt_python_key key = key_of(number);
		uint32_t id = gmt_python_cache_find(cache, &key);
		assert_true(id == 0 || id == number + 1);
		found += id != 0;
	}
	assert_true(found > PLACES / 2 * 9 / 10);
}

static void a_full_cache_replaces_entries_and_never_mixes_them(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < PLACES * 20; number++) {
		struct gmt_python_key key = key_of(number);
		struct gmt_python_key old = key_of(number / 2);
		uint32_t id = gmt_python_cache_find(cache, &old);

		assert_true(id == 0 || id == number / 2 + 1);
		gmt_python_cache_add(cache, &key, number + 1);
		assert_int_equal(gmt_python_cache_find(cache, &key), number + 1);
	}
}

static void a_cleared_cache_is_empty(void **state)
{
	(void)state;
	struct gmt_python_key key = key_of(1);

	gmt_python_cache_add(cache, &key, 7);
	gmt_python_cache_clear(cache);
	assert_int_equal(gmt_python_cache_find(cache, &key), 0);
}

/* Derives the id from the fingerprint, so that a torn entry is detected. */
static uint32_t id_of(uint64_t fingerprint)
{
	return (uint32_t)(fingerprint * 2654435761u) | 1;
}

static void *add_and_find(void *argument)
{
	uint64_t wrong = 0;
	uint64_t seed = (uintptr_t)argument;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/*
		 * One place, few fingerprints: all in one set, so that all threads write the same entries.
		 */
		struct gmt_python_key key = {
			.code = 64, .instr = 2, .fingerprint = 1 + (seed >> 33) % 16
		};
		uint32_t id = gmt_python_cache_find(cache, &key);

		wrong += id && id != id_of(key.fingerprint);
		if (!id)
			gmt_python_cache_add(cache, &key, id_of(key.fingerprint));
	}
	return (void *)(uintptr_t)wrong;
}

static void a_torn_entry_is_never_returned(void **state)
{
	(void)state;
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_find, (void *)(i + 1)), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_added_entries_are_found, cache_setup),
		cmocka_unit_test_setup(a_program_with_some_thousand_places_fits_the_cache, cache_setup),
		cmocka_unit_test_setup(a_full_cache_replaces_entries_and_never_mixes_them, cache_setup),
		cmocka_unit_test_setup(a_cleared_cache_is_empty, cache_setup),
		cmocka_unit_test_setup(a_torn_entry_is_never_returned, cache_setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
