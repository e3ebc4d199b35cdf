/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reader/load/clock.h"
#include "allocator_scene.h"

static void short_lived_blocks_of_more_sizes_than_are_kept_are_all_found(void **state)
{
	enum { PAIRS = 6000 };
	struct scene *scene = *state;

	for (uint64_t i = 0; i < PAIRS; i++) {
		ALLOCATE(CUDA, SEGMENT, MIB(16) + i * 512);
		RELEASE(CUDA, SEGMENT, 0);
	}
	compute_state(scene);
	assert_int_equal(scene->state.short_lived.rows.count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].count, PAIRS);
	assert_int_equal(scene->state.short_lived.rows.items[0].largest_bytes,
		MIB(16) + (PAIRS - 1) * 512);
	assert_int_equal(scene->state.short_lived.rows.items[0].at_peak_bytes,
		MIB(16) + (PAIRS - 1) * 512);
}

static void a_block_that_is_large_only_next_to_an_early_peak_is_not_short_lived_memory(void **state)
{
	struct scene *scene = *state;

	for (uint64_t i = 0; i < 200; i++) { /* each is the largest block until the next one */
		ALLOCATE(CUDA, SEGMENT, MIB(1) + i * 512);
		RELEASE(CUDA, SEGMENT, 0);
	}
	ALLOCATE(CUDA, SEGMENT + MIB(100), MIB(100)); /* stays */
	ALLOCATE(CUDA, SEGMENT, MIB(30));
	RELEASE(CUDA, SEGMENT, 0);
	compute_state(scene);
	assert_int_equal(scene->state.short_lived.rows.count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].bytes, MIB(30));
}

static void pages_that_pytorch_mapped_later_are_not_its_own_at_the_peak(void **state)
{
	struct scene *scene = *state;

	reserve(scene, UINT64_C(0x40000000), MIB(128));
	map_page(scene, UINT64_C(0x40000000), MIB(20));
	ALLOCATE(CUDA, SEGMENT, MIB(32));
	ALLOCATE(TORCH, SEGMENT, MIB(30)); /* the peak */
	RELEASE(TORCH, SEGMENT, 0);
	ALLOCATE(TORCH, UINT64_C(0x40000000), MIB(2));
	compute_state(scene);
	assert_int_equal(scene->state.segments.items[0].segments, 1);
	assert_int_equal(scene->state.segments.items[0].reserved_bytes, MIB(32));
	assert_int_equal(scene->state.segments.items[0].others.count, 1);
	assert_int_equal(scene->state.segments.items[1].segments, 2);
}

/*
 * Adds a random call of PyTorch's allocator or of the program. The reader ignores or counts
 * impossible calls.
 */
static void put_random_call(struct scene *scene, uint64_t random)
{
	uint64_t segment = SEGMENT + MIB(64) * (random >> 8 & 7),
			 block = segment + MIB(4) * (random >> 16 & 7);
	uint64_t range = UINT64_C(0x40000000) + MIB(64) * (random >> 8 & 1),
			 page = range + MIB(20) * (random >> 16 & 3);

	switch (random & 15) {
	case 0:
		ALLOCATE(CUDA, segment, MIB(20 + (random >> 24 & 1) * 12));
		break;
	case 1:
		RELEASE(CUDA, segment, 0);
		break;
	case 2:
		map_page(scene, page, MIB(20));
		break;
	case 3:
		unmap_page(scene, page, MIB(20));
		break;
	case 4:
		ALLOCATE(TORCH, page + MIB(4), MIB(1 + (random >> 24 & 3)));
		break;
	case 5:
		RELEASE(TORCH, page + MIB(4), 0);
		break;
	case 6: /* a range that one mapping fills; it sleeps and wakes */
		map_page(scene, UINT64_C(0x50000000), MIB(32));
		ALLOCATE(TORCH, UINT64_C(0x50000000), MIB(4));
		break;
	case 7:
		put_mapped(scene, random >> 24 & 1 ? GMT_KIND_UNMAP : GMT_KIND_MAP, GMT_SPACE_VMM,
			0x50000000, MIB(32), 0x50000000);
		break;
	case 8:
	case 9:
	case 10:
	case 11:
		ALLOCATE(TORCH, block, MIB(1 + (random >> 24 & 3)));
		break;
	default:
		RELEASE(TORCH, block, 0);
	}
}

static void compute_state_until(struct scene *scene, uint64_t until_ns,
	struct gmt_replay *ret_replay, struct gmt_allocator_state *ret_state)
{
	struct gmt_replay_observer observers[GMT_ALLOCATOR_STATE_MAX_OBSERVERS];
	struct gmt_replay_options options = { .until_ns = until_ns, .observers = observers };

	assert_int_equal(gmt_allocator_state_init(ret_state, scene->recording, &scene->traces,
						 &scene->timeline, NULL),
		GMT_OK);
	options.observer_count = gmt_allocator_state_observers(ret_state, observers);
	assert_int_equal(gmt_replay_run(ret_replay, scene->recording, &scene->traces, &options, NULL),
		GMT_OK);
	assert_int_equal(gmt_allocator_state_finish(ret_state, ret_replay, until_ns, NULL), GMT_OK);
}

static void assert_same_segments(const struct gmt_segments *a, const struct gmt_segments *b)
{
#define SAME(field) assert_int_equal(a->field, b->field)
	SAME(segments);
	SAME(reserved_bytes);
	SAME(allocated_bytes);
	SAME(blocks);
	SAME(empty_segments);
	SAME(empty_bytes);
	SAME(largest_hole_bytes);
	SAME(hole_bytes);
	SAME(pinned_segments);
	SAME(pinned_bytes);
	SAME(outside_blocks);
	SAME(outside_bytes);
	SAME(driver_bytes);
	SAME(driver_blocks);
	SAME(others.count);
	for (size_t i = 0; i < a->others.count; i++)
		SAME(others.items[i].bytes);
#undef SAME
}

/* The seed of the next test. */
static uint64_t seed;

/* A recording that ends at its peak has the same state at the peak and at the end. */
static void the_composition_of_a_peak_equals_a_replay_up_to_it(void **state)
{
	struct scene *scene = *state;
	struct gmt_replay replay = { 0 };
	struct gmt_allocator_state second_state = { 0 };
	const struct gmt_account *account;
	uint64_t peak = 0, live = 0, random = seed++;

	reserve(scene, UINT64_C(0x40000000), MIB(128));
	reserve(scene, UINT64_C(0x50000000), MIB(32));
	for (int i = 0; i < 600; i++)
		put_random_call(scene, random = gmt_hash_u64(random + 1));
	compute_state(scene);
	account = gmt_accounting_find_account(&scene->replay.accounting, GMT_LAYER_TORCH, 0);
	compute_state_until(scene, gmt_clock_time_ns(scene->recording, account->peak_stamp), &replay,
		&second_state);
	assert_int_equal(second_state.segments.count, 2);
	assert_int_equal(scene->state.segments.count, 2);
	assert_same_segments(&scene->state.segments.items[0], &second_state.segments.items[1]);
	assert_same_segments(&second_state.segments.items[0], &second_state.segments.items[1]);
	for (size_t i = 0; i < scene->state.attribution.phases.items.count; i++)
		if (&scene->replay.accounting.accounts
				.items[scene->state.attribution.phases.items.items[i].account] == account)
			peak += scene->state.attribution.phases.items.items[i].peak_bytes;
	for (size_t i = 0; i < second_state.attribution.phases.items.count; i++)
		if (replay.accounting.accounts.items[second_state.attribution.phases.items.items[i].account]
				.layer == GMT_LAYER_TORCH)
			live += second_state.attribution.phases.items.items[i].live_bytes;
	assert_int_equal(peak, account->peak_bytes);
	assert_int_equal(live, peak);
	gmt_allocator_state_fini(&second_state);
	gmt_replay_fini(&replay);
}

int main(void)
{
#define RANDOM_SCENE SCENE(the_composition_of_a_peak_equals_a_replay_up_to_it)
	const struct CMUnitTest tests[] = {
		SCENE(short_lived_blocks_of_more_sizes_than_are_kept_are_all_found),
		SCENE(a_block_that_is_large_only_next_to_an_early_peak_is_not_short_lived_memory),
		SCENE(pages_that_pytorch_mapped_later_are_not_its_own_at_the_peak),
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
		RANDOM_SCENE,
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
