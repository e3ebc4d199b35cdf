/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "containers/ordered_map.h"
#include "allocator_scene.h"

static void an_ordered_map_finds_the_entry_at_or_below_a_key(void **state)
{
	struct gmt_ordered_map ordered = { 0 };
	uint64_t keys[3000], key;

	(void)state;
	for (size_t i = 0; i < 3000; i++) { /* every key once, unordered: 3001 is prime */
		key = (i + 1) * 1103 % 3001;
		keys[i] = key * 10;
		assert_true(gmt_ordered_map_put(&ordered, keys[i], key));
	}
	for (size_t i = 0; i < 1500; i++)
		assert_true(gmt_ordered_map_remove(&ordered, keys[i]));
	assert_false(gmt_ordered_map_remove(&ordered, keys[0]));
	assert_int_equal(ordered.count, 1500);
	for (size_t i = 1500; i < 3000; i++) {
		assert_int_equal(gmt_ordered_map_find_below(&ordered, keys[i])->value, keys[i] / 10);
		assert_int_equal(gmt_ordered_map_find_below(&ordered, keys[i] + 9)->key, keys[i]);
	}
	for (size_t i = 0; i < 1500; i++) {
		const struct gmt_ordered_map_entry *entry = gmt_ordered_map_find_below(&ordered, keys[i]);
		assert_true(!entry || entry->key < keys[i]);
	}
	gmt_ordered_map_fini(&ordered);
}

/* Returns the living segment that begins last at or below the address. Checks every place. */
static const struct gmt_allocator_segment *find_slowly(const struct gmt_allocator_memory *memory,
	const bool *lives, size_t count, uint64_t address)
{
	for (uint64_t i = address / MIB(1) + 1; i-- > 0;)
		if (i < count && lives[i])
			return gmt_allocator_memory_at(memory, i * MIB(1));
	return NULL;
}

static void a_segment_is_found_after_others_came_and_went(void **state)
{
	enum { PLACES = 64, ROUNDS = 20000 };
	static struct gmt_allocator_memory memory;
	bool lives[PLACES] = { false };
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random = gmt_hash_u64(random);

		uint64_t place = 1 + random % (PLACES - 1), address = random >> 16 & (MIB(64) - 1);
		const struct gmt_recording_event event = { .address = place * MIB(1),
			.size_bytes = MIB(1 + (random >> 8) % 9) };
		const struct gmt_allocator_segment *below = find_slowly(&memory, lives, PLACES, address),
										   *found;

		found = gmt_allocator_memory_find(&memory, 0, address, 1);
		assert_ptr_equal(found,
			below && address - below->address < below->size_bytes ? below : NULL);
		if (random >> 40 & 7)
			continue;
		if (lives[place] && random >> 50 & 1) {
			assert_true(gmt_allocator_memory_remove(&memory,
				gmt_allocator_memory_at(&memory, event.address)));
			lives[place] = false;
		} else {
			assert_non_null(gmt_allocator_memory_add(&memory, &event, 0, 0));
			lives[place] = true;
		}
	}
	gmt_allocator_memory_fini(&memory);
}

static void a_driver_block_becomes_a_segment_with_pytorchs_first_block_in_it(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT, MIB(20));
	ALLOCATE(CUDA, SEGMENT + MIB(100), MIB(50)); /* not PyTorch's */
	ALLOCATE(TORCH, SEGMENT, MIB(4));
	ALLOCATE(TORCH, SEGMENT + MIB(10), MIB(2));
	compute_state(scene);
	assert_int_equal(scene->state.segments.count, 2);

	const struct gmt_segments *end = &scene->state.segments.items[1];
	assert_int_equal(end->moment, GMT_SEGMENTS_AT_END);
	assert_int_equal(end->segments, 1);
	assert_int_equal(end->reserved_bytes, MIB(20));
	assert_int_equal(end->allocated_bytes, MIB(6));
	assert_int_equal(end->hole_bytes, MIB(14));
	assert_int_equal(end->largest_hole_bytes, MIB(8));
	assert_int_equal(end->driver_bytes, MIB(70));
	assert_int_equal(end->others.count, 1);
	assert_int_equal(end->others.items[0].bytes, MIB(50));
	/* A small program always reserves more than it allocates. */
	assert_false(end->fragmented);
}

static void a_ratio_of_exactly_1_5_is_not_fragmentation(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT, MIB(300));
	ALLOCATE(TORCH, SEGMENT, MIB(200));
	compute_state(scene);
	assert_false(scene->state.segments.items[0].fragmented);
}

static void unused_memory_above_64_mib_is_fragmentation(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT, MIB(100));
	ALLOCATE(TORCH, SEGMENT, MIB(35));
	compute_state(scene);
	assert_true(scene->state.segments.items[0].fragmented);
}

static void unused_memory_of_64_mib_is_no_fragmentation(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT, MIB(100));
	ALLOCATE(TORCH, SEGMENT, MIB(36));
	compute_state(scene);
	assert_false(scene->state.segments.items[0].fragmented);
}

static void empty_segments_are_neither_holes_nor_sparse(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT, MIB(20));
	ALLOCATE(TORCH, SEGMENT, MIB(19));
	ALLOCATE(CUDA, SEGMENT + MIB(40), MIB(20));
	ALLOCATE(TORCH, SEGMENT + MIB(40), MIB(1));
	RELEASE(TORCH, SEGMENT, MIB(19));
	compute_state(scene);

	const struct gmt_segments *end = &scene->state.segments.items[1];
	assert_int_equal(end->empty_bytes, MIB(20));
	assert_int_equal(end->hole_bytes, MIB(19));
	assert_int_equal(end->pinned_segments, 1);
	assert_int_equal(end->pins.items[0].free_bytes, MIB(19));
	assert_int_equal(end->largest_hole_bytes, MIB(20));
}

static void segments_freed_between_two_allocations_count_as_one_release(void **state)
{
	struct scene *scene = *state;

	for (int round = 0; round < 2; round++) {
		ALLOCATE(CUDA, SEGMENT, MIB(20));
		ALLOCATE(TORCH, SEGMENT, MIB(20));
		ALLOCATE(CUDA, SEGMENT + MIB(40), MIB(10));
		ALLOCATE(TORCH, SEGMENT + MIB(40), MIB(10));
		RELEASE(TORCH, SEGMENT, MIB(20));
		RELEASE(TORCH, SEGMENT + MIB(40), MIB(10));
		RELEASE(CUDA, SEGMENT, 0);
		RELEASE(CUDA, SEGMENT + MIB(40), 0);
	}
	compute_state(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->state.allocator, 0);
	assert_int_equal(device->cache_release_count, 2);
	assert_int_equal(device->released_bytes, MIB(60));
	assert_int_equal(device->reacquired_bytes, MIB(30));
	assert_int_equal(device->cache_releases.items[0].segments, 2);
	assert_int_equal(device->cache_releases.items[0].reacquired_bytes, MIB(30));
	assert_int_equal(device->cache_releases.items[1].reacquired_bytes, 0);
	assert_true(gmt_allocator_knows_segments(device));
}

static void a_block_outside_of_all_segments_leaves_the_pools_unknown(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT - MIB(10), MIB(12)); /* the block only overlaps this */
	ALLOCATE(TORCH, SEGMENT, MIB(4));
	compute_state(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->state.allocator, 0);
	assert_false(gmt_allocator_knows_segments(device));
	assert_int_equal(device->stats[GMT_ALLOCATOR_ALLOCATED][GMT_POOL_ALL].current, MIB(4));
	assert_int_equal(scene->state.segments.items[0].outside_bytes, MIB(4));
}

static void adjacent_mapped_pages_are_one_expandable_segment(void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(1000));
	for (uint64_t i = 0; i < 4; i++)
		map_page(scene, SEGMENT + MIB(20) * i, MIB(20));
	ALLOCATE(TORCH, SEGMENT, MIB(30));
	ALLOCATE(TORCH, SEGMENT + MIB(30), MIB(11)); /* 1 MiB of it is in the third page */
	map_page(scene, SEGMENT + MIB(100), MIB(20)); /* in the same range, but apart */
	map_page(scene, SEGMENT + MIB(2000),
		MIB(20)); /* not PyTorch's, outside of all reserved ranges */
	RELEASE(TORCH, SEGMENT, MIB(30));
	compute_state(scene);

	const struct gmt_segments *end = &scene->state.segments.items[1];
	assert_int_equal(end->segments, 2);
	assert_int_equal(end->reserved_bytes, MIB(100));
	assert_int_equal(end->allocated_bytes, MIB(11));
	assert_int_equal(end->empty_segments, 3);
	assert_int_equal(end->empty_bytes, MIB(60));
	assert_int_equal(end->hole_bytes, MIB(29));
	assert_int_equal(end->largest_hole_bytes, MIB(39)); /* behind the block, over a page */
	assert_int_equal(end->pinned_segments, 1);
	assert_int_equal(end->pins.items[0].free_bytes, MIB(19));
	assert_int_equal(end->driver_bytes, MIB(120));
	assert_int_equal(end->others.count, 1);
	assert_int_equal(end->others.items[0].bytes, MIB(20));
	assert_int_equal(end->others.items[0].space, GMT_SPACE_VMM);
	assert_int_equal(end->outside_blocks, 0);
}

static void pages_count_as_reserved_as_no_segments_and_as_given_back_when_they_are_unmapped(
	void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(1000));
	map_page(scene, SEGMENT, MIB(20));
	map_page(scene, SEGMENT + MIB(20), MIB(20));
	ALLOCATE(TORCH, SEGMENT, MIB(25));
	RELEASE(TORCH, SEGMENT, MIB(25));
	unmap_page(scene, SEGMENT, MIB(20));
	unmap_page(scene, SEGMENT + MIB(20), MIB(20));
	reserve(scene, SEGMENT + MIB(4000), MIB(1000));
	map_page(scene, SEGMENT + MIB(4000), MIB(2));
	ALLOCATE(TORCH, SEGMENT + MIB(4000), MIB(1));
	compute_state(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->state.allocator, 0);
	const struct gmt_allocator_stat *reserved = device->stats[GMT_ALLOCATOR_RESERVED];
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(reserved[GMT_POOL_ALL].peak, MIB(40));
	assert_int_equal(reserved[GMT_POOL_LARGE].freed, MIB(40));
	assert_int_equal(reserved[GMT_POOL_SMALL].current, MIB(2));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].allocated, 0);
	assert_int_equal(device->stats[GMT_ALLOCATOR_SPLIT][GMT_POOL_ALL].allocated, 0);
	assert_int_equal(device->cache_release_count, 1);
	assert_int_equal(device->released_bytes, MIB(40));
	assert_int_equal(device->reacquired_bytes, MIB(2));
}

static void a_segment_without_memory_for_a_while_stays_pytorchs(void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(20));
	map_page(scene, SEGMENT, MIB(20));
	ALLOCATE(TORCH, SEGMENT, MIB(5));
	unmap_page(scene, SEGMENT, MIB(20));
	ALLOCATE(TORCH, SEGMENT + MIB(10), MIB(1));
	compute_state(scene);

	const struct gmt_segments *end = &scene->state.segments.items[1];
	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->state.allocator, 0);
	assert_int_equal(end->reserved_bytes, MIB(20));
	assert_int_equal(end->allocated_bytes, MIB(6));
	assert_int_equal(end->driver_bytes, 0);
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].current, 1);
	assert_int_equal(device->stats[GMT_ALLOCATOR_SPLIT][GMT_POOL_ALL].current, MIB(14));
	assert_int_equal(device->cache_release_count, 0);
}

static void a_sleeping_segment_stays_one_segment_until_its_addresses_are_freed(void **state)
{
	struct scene *scene = *state;

	for (int asleep = 0; asleep < 2; asleep++) {
		reserve(scene, SEGMENT, MIB(20));
		map_page(scene, SEGMENT, MIB(20));
		ALLOCATE(TORCH, SEGMENT, MIB(5));
		unmap_page(scene, SEGMENT, MIB(20));
		if (!asleep)
			map_page(scene, SEGMENT, MIB(20));
		RELEASE(TORCH, SEGMENT, MIB(5));
		if (!asleep)
			unmap_page(scene, SEGMENT, MIB(20));
		put_mapped(scene, GMT_KIND_DESTROY, GMT_SPACE_RESERVATION, SEGMENT, MIB(20), 0);
	}
	compute_state(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->state.allocator, 0);
	const struct gmt_allocator_stat *reserved =
		&device->stats[GMT_ALLOCATOR_RESERVED][GMT_POOL_ALL];
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(reserved->current, 0);
	assert_int_equal(reserved->freed, MIB(40));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].freed, 2);
	assert_int_equal(scene->state.segments.items[1].segments, 0);
}

static void a_large_block_that_is_freed_at_once_is_short_lived_and_a_kept_one_is_not(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(TORCH, SEGMENT, MIB(50)); /* stays for 17 allocations */
	ALLOCATE(TORCH, SEGMENT + MIB(60), MIB(40));
	RELEASE(TORCH, SEGMENT + MIB(60), MIB(40));
	for (uint64_t i = 0; i < 16; i++)
		ALLOCATE(TORCH, SEGMENT + MIB(200) + i * 512, 512);
	RELEASE(TORCH, SEGMENT, MIB(50));
	compute_state(scene);
	assert_int_equal(scene->state.short_lived.rows.count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].largest_bytes, MIB(40));
	assert_int_equal(scene->state.short_lived.rows.items[0].count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].at_peak_bytes, MIB(40));
}

static void a_large_block_that_lives_to_the_end_is_not_short_lived(void **state)
{
	struct scene *scene = *state;

	ALLOCATE(CUDA, SEGMENT,
		MIB(40)); /* freed after three allocations, which take most of the time */
	ALLOCATE(CUDA, SEGMENT + MIB(60), MIB(1));
	scene->stamp += 1000000;
	ALLOCATE(CUDA, SEGMENT + MIB(70), MIB(30));
	RELEASE(CUDA, SEGMENT + MIB(70), 0);
	scene->stamp += 1000000;
	RELEASE(CUDA, SEGMENT, 0);
	compute_state(scene);
	assert_int_equal(scene->state.short_lived.rows.count, 1);
	assert_int_equal(scene->state.short_lived.rows.items[0].largest_bytes, MIB(30));
}

static void the_composition_of_a_peak_is_of_the_blocks_that_were_live_then(void **state)
{
	struct scene *scene = *state;
	uint64_t peak = 0, live = 0;

	ALLOCATE(CUDA, SEGMENT, MIB(8));
	ALLOCATE(CUDA, SEGMENT + MIB(10), MIB(5)); /* the peak */
	RELEASE(CUDA, SEGMENT, 0);
	ALLOCATE(CUDA, SEGMENT + MIB(20), MIB(3));
	compute_state(scene);
	for (size_t i = 0; i < scene->state.attribution.steps.items.count; i++) {
		peak += scene->state.attribution.steps.items.items[i].peak_bytes;
		live += scene->state.attribution.steps.items.items[i].live_bytes;
	}
	assert_int_equal(peak, MIB(13));
	assert_int_equal(live, MIB(8));
	assert_false(scene->state.has_torch);
	assert_int_equal(scene->state.segments.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordered_map_finds_the_entry_at_or_below_a_key),
		cmocka_unit_test(a_segment_is_found_after_others_came_and_went),
		SCENE(a_driver_block_becomes_a_segment_with_pytorchs_first_block_in_it),
		SCENE(a_ratio_of_exactly_1_5_is_not_fragmentation),
		SCENE(unused_memory_above_64_mib_is_fragmentation),
		SCENE(unused_memory_of_64_mib_is_no_fragmentation),
		SCENE(empty_segments_are_neither_holes_nor_sparse),
		SCENE(segments_freed_between_two_allocations_count_as_one_release),
		SCENE(a_block_outside_of_all_segments_leaves_the_pools_unknown),
		SCENE(adjacent_mapped_pages_are_one_expandable_segment),
		SCENE(pages_count_as_reserved_as_no_segments_and_as_given_back_when_they_are_unmapped),
		SCENE(a_segment_without_memory_for_a_while_stays_pytorchs),
		SCENE(a_sleeping_segment_stays_one_segment_until_its_addresses_are_freed),
		SCENE(a_large_block_that_lives_to_the_end_is_not_short_lived),
		SCENE(a_large_block_that_is_freed_at_once_is_short_lived_and_a_kept_one_is_not),
		SCENE(the_composition_of_a_peak_is_of_the_blocks_that_were_live_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
