/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "depot/depot.h"

enum { ARENA_BYTES = 64 << 20 };

struct fixture {
	void *arena;
	struct gmt_depot *depot;
};

static struct fixture fixture;

static int depot_setup(void **state)
{
	(void)state;
	fixture.arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	fixture.depot = gmt_depot_open(fixture.arena, ARENA_BYTES, ARENA_BYTES);
	return fixture.arena == MAP_FAILED || !fixture.depot;
}

static int depot_teardown(void **state)
{
	(void)state;
	gmt_depot_close(fixture.depot);
	munmap(fixture.arena, ARENA_BYTES);
	return 0;
}

static void assert_entry(uint32_t id, enum gmt_depot_kind kind, const void *bytes, uint32_t length)
{
	struct gmt_depot_entry *entry = gmt_depot_get(fixture.depot, id);

	assert_int_not_equal(id, 0);
	assert_int_equal(entry->kind, kind);
	assert_int_equal(entry->length, length);
	assert_int_equal(entry->file_id, 0);
	assert_int_equal((uintptr_t)entry % 8, 0);
	assert_memory_equal(entry + 1, bytes, length);
}

static void equal_bytes_have_one_id_and_other_bytes_have_another(void **state)
{
	(void)state;
	char bytes[100];
	uint32_t ids[sizeof(bytes)];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	/* All texts are prefixes of one text: only the length distinguishes them, to the last byte. */
	for (uint32_t length = 0; length < sizeof(bytes); length++)
		ids[length] = gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, bytes, length);
	for (uint32_t length = 0; length < sizeof(bytes); length++) {
		assert_entry(ids[length], GMT_DEPOT_STACK, bytes, length);
		assert_int_equal(gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, bytes, length),
			ids[length]);
		for (uint32_t other = 0; other < length; other++)
			assert_int_not_equal(ids[length], ids[other]);
	}
	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 0x40;
		uint32_t id = gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, bytes, sizeof(bytes));
		assert_entry(id, GMT_DEPOT_STACK, bytes, sizeof(bytes));
		bytes[i] ^= 0x40;
		assert_int_not_equal(gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, bytes, sizeof(bytes)),
			id);
	}
}

static void trailing_zeros_are_part_of_an_entry(void **state)
{
	(void)state;
	char zeros[32] = { 0 };

	for (uint32_t length = 1; length <= sizeof(zeros); length++) {
		uint32_t id = gmt_depot_intern(fixture.depot, GMT_DEPOT_CODE, zeros, length);
		assert_entry(id, GMT_DEPOT_CODE, zeros, length);
	}
}

static void the_same_bytes_of_two_kinds_have_two_ids(void **state)
{
	(void)state;
	uint32_t stack = gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, "same", 4);
	uint32_t code = gmt_depot_intern(fixture.depot, GMT_DEPOT_CODE, "same", 4);

	assert_int_not_equal(stack, code);
	assert_entry(stack, GMT_DEPOT_STACK, "same", 4);
	assert_entry(code, GMT_DEPOT_CODE, "same", 4);
}

static void a_full_arena_refuses_the_new_and_keeps_what_it_has_until_set_ready_lifts_it(
	void **state)
{
	(void)state;
	uint64_t numbers[64];
	uint32_t ids[64];
	uint32_t made = 0;

	gmt_depot_set_ready(fixture.depot, 1000);
	for (;; made++) {
		numbers[made] = made;
		ids[made] =
			gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &numbers[made], sizeof(numbers[made]));
		if (!ids[made])
			break;
	}
	assert_true(made > 10);

	uint64_t used = gmt_depot_used_bytes(fixture.depot);

	assert_true(used <= 1000);
	for (uint32_t i = 0; i < made; i++)
		assert_int_equal(gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &numbers[i],
							 sizeof(numbers[i])),
			ids[i]);

	/* A refused entry takes no bytes. */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, numbers, sizeof(numbers)),
			0);
	assert_int_equal(gmt_depot_used_bytes(fixture.depot), used);

	gmt_depot_set_ready(fixture.depot,
		(uint64_t)1 << 40); /* more than the arena's size: all of it */
	uint32_t id =
		gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &numbers[made], sizeof(numbers[made]));
	assert_entry(id, GMT_DEPOT_FRAME, &numbers[made], sizeof(numbers[made]));
	for (uint32_t i = 0; i < made; i++)
		assert_entry(ids[i], GMT_DEPOT_FRAME, &numbers[i], sizeof(numbers[i]));
}

static void an_arena_ends_at_its_size_even_if_more_is_ready(void **state)
{
	(void)state;
	struct gmt_depot *small = gmt_depot_open(fixture.arena, 4096, 1 << 20);
	uint32_t made = 0;

	while (gmt_depot_intern(small, GMT_DEPOT_FRAME, &made, sizeof(made)))
		made++;
	assert_in_range(made, 100, 4096 / sizeof(struct gmt_depot_entry));
	assert_true(gmt_depot_used_bytes(small) <= 4096);
	gmt_depot_close(small);
}

static void a_full_table_refuses_new_entries_and_finds_old_ones(void **state)
{
	(void)state;
	uint32_t made = 0;

	for (uint32_t id = 1; id; made += id != 0)
		id = gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &made, sizeof(made));
	assert_true(made > 900000);
	for (uint32_t i = 0; i < made; i += 7)
		assert_entry(gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &i, sizeof(i)),
			GMT_DEPOT_FRAME, &i, sizeof(i));
	assert_int_equal(gmt_depot_intern(fixture.depot, GMT_DEPOT_FRAME, &made, sizeof(made)), 0);
}

enum { THREADS = 4, STACKS = 100000, DEPTH = 12 };

struct job {
	uint32_t first; /* the first stack, so that threads meet and part */
	uint32_t salt; /* 0: the same stacks in every thread */
	uint32_t ids[STACKS];
};

static uint32_t make_stack(uint64_t *words, uint32_t number, uint32_t salt)
{
	uint32_t depth = 1 + number % DEPTH;

	for (uint32_t i = 0; i < depth; i++)
		words[i] = (uint64_t)number * 0x10001 + i + ((uint64_t)salt << 40);
	return depth * (uint32_t)sizeof(words[0]);
}

static void *intern_all(void *argument)
{
	struct job *job = argument;
	uint64_t words[DEPTH];

	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t number = (job->first + i) % STACKS;
		uint32_t length = make_stack(words, number, job->salt);
		uint32_t id = gmt_depot_intern(fixture.depot, GMT_DEPOT_STACK, words, length);

		/* The entry is complete when the id is known, whichever thread made it. */
		if (id && memcmp(gmt_depot_get(fixture.depot, id) + 1, words, length))
			abort();
		job->ids[number] = id;
	}
	return NULL;
}

static void run_jobs(struct job **jobs, bool same)
{
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = calloc(1, sizeof(*jobs[i]));
		jobs[i]->first = i / 2 * (STACKS / 2); /* two threads start at 0, two half-way */
		jobs[i]->salt = same ? 0 : i + 1;
		assert_int_equal(pthread_create(&threads[i], NULL, intern_all, jobs[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		for (uint32_t number = 0; number < STACKS; number++) {
			uint64_t words[DEPTH];
			uint32_t length = make_stack(words, number, jobs[i]->salt);

			assert_entry(jobs[i]->ids[number], GMT_DEPOT_STACK, words, length);
		}
	}
}

static void threads_that_intern_the_same_stacks_get_the_same_whole_entries(void **state)
{
	(void)state;
	struct job *jobs[THREADS];

	run_jobs(jobs, true);
	for (uint32_t i = 1; i < THREADS; i++)
		assert_memory_equal(jobs[i]->ids, jobs[0]->ids, sizeof(jobs[0]->ids));
	for (uint32_t i = 0; i < THREADS; i++)
		free(jobs[i]);
}

static void threads_that_intern_different_stacks_do_not_disturb_each_other(void **state)
{
	(void)state;
	struct job *jobs[THREADS];

	run_jobs(jobs, false);
	for (uint32_t i = 0; i < THREADS; i++)
		free(jobs[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define DEPOT_TEST(name) cmocka_unit_test_setup_teardown(name, depot_setup, depot_teardown)
		DEPOT_TEST(equal_bytes_have_one_id_and_other_bytes_have_another),
		DEPOT_TEST(trailing_zeros_are_part_of_an_entry),
		DEPOT_TEST(the_same_bytes_of_two_kinds_have_two_ids),
		DEPOT_TEST(a_full_arena_refuses_the_new_and_keeps_what_it_has_until_set_ready_lifts_it),
		DEPOT_TEST(an_arena_ends_at_its_size_even_if_more_is_ready),
		DEPOT_TEST(a_full_table_refuses_new_entries_and_finds_old_ones),
		DEPOT_TEST(threads_that_intern_the_same_stacks_get_the_same_whole_entries),
		DEPOT_TEST(threads_that_intern_different_stacks_do_not_disturb_each_other),
#undef DEPOT_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
