/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/where.h"
#include "base/ordered.h"
#include "snapshot_file.h"
#include "temporary.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { SEGMENT = 0x10000000 };

/* Events of one thread on device 0, in order, as they are written down. */
struct scene {
	struct snapshot_file file;
	uint64_t stamp, events;
	struct gmt_snapshot *snapshot;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_replay replay;
	struct gmt_where where;
};

static void put(struct scene *scene, uint8_t layer, uint8_t kind, uint64_t address, uint64_t size_bytes)
{
	SNAPSHOT_PUT(&scene->file, EVENT, gmt_event, .stamp = scene->stamp += 1000, .thread = 1, .kind = kind,
		.layer = layer, .space = GMT_SPACE_DEVICE, .address = address, .size_bytes = size_bytes);
	scene->events++;
}

/* `object` is the handle of what is mapped. */
static void put_mapped(struct scene *scene, uint8_t kind, uint8_t space, uint64_t address, uint64_t size_bytes,
	uint64_t object)
{
	SNAPSHOT_PUT(&scene->file, EVENT, gmt_event, .stamp = scene->stamp += 1000, .thread = 1, .kind = kind,
		.layer = gmt_space_layer(space), .space = space, .address = address, .size_bytes = size_bytes,
		.object = object);
	scene->events++;
}

/* A page of an expandable segment; its handle is its address. */
static void map_page(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_ALLOC, GMT_SPACE_VMM, address, size_bytes, 0);
	put_mapped(scene, GMT_KIND_MAP, GMT_SPACE_VMM, address, size_bytes, address);
}

static void unmap_page(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_UNMAP, GMT_SPACE_VMM, address, size_bytes, 0);
	put_mapped(scene, GMT_KIND_FREE, GMT_SPACE_VMM, address, 0, 0);
}

static void reserve(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_CREATE, GMT_SPACE_RESERVATION, address, size_bytes, 0);
}

#define GET(layer, address, size) put(scene, GMT_LAYER_##layer, GMT_KIND_ALLOC, address, size)
#define PUT_BACK(layer, address, size) put(scene, GMT_LAYER_##layer, GMT_KIND_FREE, address, size)

static int scene_open(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	if (!scene || path_setup(state))
		return 1;
	snapshot_file_open(&scene->file, path, 1);
	SNAPSHOT_PUT(&scene->file, PROCESS, gmt_process, .pid = 1, .start_time_ns = 1, .start_stamp = 1);
	SNAPSHOT_PUT(&scene->file, THREAD, gmt_thread, .id = 1, .name = slice("main"));
	return 0;
}

/* What was put becomes a recording, and is looked at. */
static void look(struct scene *scene)
{
	struct gmt_traces_options traces = { 0 };
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END };

	SNAPSHOT_PUT(&scene->file, END, gmt_end, .stamp = scene->stamp + 1, .events = scene->events);
	snapshot_file_close(&scene->file);
	assert_int_equal(gmt_snapshot_load(path, NULL, &scene->snapshot, NULL), GMT_OK);
	assert_int_equal(gmt_traces_init(&scene->traces, scene->snapshot, &traces, NULL), GMT_OK);
	assert_int_equal(gmt_timeline_init(&scene->timeline, scene->snapshot, &scene->traces, NULL), GMT_OK);
	assert_int_equal(gmt_replay_init(&scene->replay, scene->snapshot, &scene->traces, &options, NULL), GMT_OK);
	assert_int_equal(gmt_where_init(&scene->where, scene->snapshot, &scene->traces, &scene->timeline,
		&scene->replay, GMT_REPLAY_TO_END, NULL), GMT_OK);
}

static int scene_close(void **state)
{
	struct scene *scene = *state;

	gmt_where_fini(&scene->where);
	gmt_replay_fini(&scene->replay);
	gmt_timeline_fini(&scene->timeline);
	gmt_traces_fini(&scene->traces);
	gmt_snapshot_free(scene->snapshot);
	free(scene);
	return path_teardown(state);
}

static void an_ordered_map_finds_what_lies_at_or_below_a_key(void **state)
{
	struct gmt_ordered ordered = { 0 };
	uint64_t keys[3000], key;

	(void)state;
	for (size_t i = 0; i < 3000; i++) { /* every key once, in no order: 3001 is prime */
		key = (i + 1) * 1103 % 3001;
		keys[i] = key * 10;
		assert_true(gmt_ordered_put(&ordered, keys[i], key));
	}
	for (size_t i = 0; i < 1500; i++)
		assert_true(gmt_ordered_remove(&ordered, keys[i]));
	assert_false(gmt_ordered_remove(&ordered, keys[0]));
	assert_int_equal(ordered.count, 1500);
	for (size_t i = 1500; i < 3000; i++) {
		assert_int_equal(gmt_ordered_find_below(&ordered, keys[i])->value, keys[i] / 10);
		assert_int_equal(gmt_ordered_find_below(&ordered, keys[i] + 9)->key, keys[i]);
	}
	for (size_t i = 0; i < 1500; i++) {
		const struct gmt_ordered_entry *entry = gmt_ordered_find_below(&ordered, keys[i]);
		assert_true(!entry || entry->key < keys[i]);
	}
	gmt_ordered_fini(&ordered);
}

static void a_block_of_the_driver_is_a_segment_once_pytorch_puts_a_block_into_it(void **state)
{
	struct scene *scene = *state;

	GET(CUDA, SEGMENT, MIB(20));
	GET(CUDA, SEGMENT + MIB(100), MIB(50)); /* somebody else's */
	GET(TORCH, SEGMENT, MIB(4));
	GET(TORCH, SEGMENT + MIB(10), MIB(2));
	look(scene);
	assert_int_equal(scene->where.segments.count, 2);

	const struct gmt_segments *end = &scene->where.segments.items[1];
	assert_int_equal(end->moment, GMT_SEGMENTS_AT_END);
	assert_int_equal(end->segments, 1);
	assert_int_equal(end->reserved_bytes, MIB(20));
	assert_int_equal(end->allocated_bytes, MIB(6));
	assert_int_equal(end->hole_bytes, MIB(14));
	assert_int_equal(end->largest_hole_bytes, MIB(8));
	assert_int_equal(end->driver_bytes, MIB(70));
	assert_int_equal(end->others.count, 1);
	assert_int_equal(end->others.items[0].bytes, MIB(50));
	assert_true(end->fragmented);
}

static void a_ratio_of_exactly_one_and_a_half_is_no_fragmentation(void **state)
{
	struct scene *scene = *state;

	GET(CUDA, SEGMENT, MIB(30));
	GET(TORCH, SEGMENT, MIB(20));
	look(scene);
	assert_false(scene->where.segments.items[0].fragmented);
}

static void empty_segments_are_no_holes_and_are_not_pinned(void **state)
{
	struct scene *scene = *state;

	GET(CUDA, SEGMENT, MIB(20));
	GET(TORCH, SEGMENT, MIB(19));
	GET(CUDA, SEGMENT + MIB(40), MIB(20));
	GET(TORCH, SEGMENT + MIB(40), MIB(1));
	PUT_BACK(TORCH, SEGMENT, MIB(19));
	look(scene);

	const struct gmt_segments *end = &scene->where.segments.items[1];
	assert_int_equal(end->empty_bytes, MIB(20));
	assert_int_equal(end->hole_bytes, MIB(19));
	assert_int_equal(end->pinned_segments, 1);
	assert_int_equal(end->pins.items[0].free_bytes, MIB(19));
	assert_int_equal(end->largest_hole_bytes, MIB(20));
}

static void segments_freed_between_two_blocks_are_given_back_once(void **state)
{
	struct scene *scene = *state;

	for (int round = 0; round < 2; round++) {
		GET(CUDA, SEGMENT, MIB(20));
		GET(TORCH, SEGMENT, MIB(20));
		GET(CUDA, SEGMENT + MIB(40), MIB(10));
		GET(TORCH, SEGMENT + MIB(40), MIB(10));
		PUT_BACK(TORCH, SEGMENT, MIB(20));
		PUT_BACK(TORCH, SEGMENT + MIB(40), MIB(10));
		PUT_BACK(CUDA, SEGMENT, 0);
		PUT_BACK(CUDA, SEGMENT + MIB(40), 0);
	}
	look(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->where.allocator, 0);
	assert_int_equal(device->give_back_count, 2);
	assert_int_equal(device->given_bytes, MIB(60));
	assert_int_equal(device->again_bytes, MIB(30));
	assert_int_equal(device->give_backs.items[0].segments, 2);
	assert_int_equal(device->give_backs.items[0].again_bytes, MIB(30));
	assert_int_equal(device->give_backs.items[1].again_bytes, 0);
	assert_true(gmt_allocator_knows_segments(device));
}

static void a_block_outside_of_all_segments_leaves_the_pools_unknown(void **state)
{
	struct scene *scene = *state;

	GET(CUDA, SEGMENT - MIB(10), MIB(12)); /* which the block only overlaps */
	GET(TORCH, SEGMENT, MIB(4));
	look(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->where.allocator, 0);
	assert_false(gmt_allocator_knows_segments(device));
	assert_int_equal(device->stats[GMT_ALLOCATOR_ALLOCATED][GMT_POOL_ALL].current, MIB(4));
	assert_int_equal(scene->where.segments.items[0].outside_bytes, MIB(4));
}

static void pages_that_are_mapped_side_by_side_are_one_expandable_segment(void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(1000));
	for (uint64_t i = 0; i < 4; i++)
		map_page(scene, SEGMENT + MIB(20) * i, MIB(20));
	GET(TORCH, SEGMENT, MIB(30));
	GET(TORCH, SEGMENT + MIB(30), MIB(11)); /* the third page has 1 MiB of it */
	map_page(scene, SEGMENT + MIB(100), MIB(20)); /* of the same range, but apart */
	map_page(scene, SEGMENT + MIB(2000), MIB(20)); /* somebody else's, reserved nowhere */
	PUT_BACK(TORCH, SEGMENT, MIB(30));
	look(scene);

	const struct gmt_segments *end = &scene->where.segments.items[1];
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

static void pages_count_as_reserved_as_no_segments_and_as_given_back_when_they_are_unmapped(void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(1000));
	map_page(scene, SEGMENT, MIB(20));
	map_page(scene, SEGMENT + MIB(20), MIB(20));
	GET(TORCH, SEGMENT, MIB(25));
	PUT_BACK(TORCH, SEGMENT, MIB(25));
	unmap_page(scene, SEGMENT, MIB(20));
	unmap_page(scene, SEGMENT + MIB(20), MIB(20));
	reserve(scene, SEGMENT + MIB(4000), MIB(1000));
	map_page(scene, SEGMENT + MIB(4000), MIB(2));
	GET(TORCH, SEGMENT + MIB(4000), MIB(1));
	look(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->where.allocator, 0);
	const struct gmt_allocator_stat *reserved = device->stats[GMT_ALLOCATOR_RESERVED];
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(reserved[GMT_POOL_ALL].peak, MIB(40));
	assert_int_equal(reserved[GMT_POOL_LARGE].freed, MIB(40));
	assert_int_equal(reserved[GMT_POOL_SMALL].current, MIB(2));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].allocated, 0);
	assert_int_equal(device->stats[GMT_ALLOCATOR_SPLIT][GMT_POOL_ALL].allocated, 0);
	assert_int_equal(device->give_back_count, 1);
	assert_int_equal(device->given_bytes, MIB(40));
	assert_int_equal(device->again_bytes, MIB(2));
}

static void a_segment_whose_memory_is_taken_away_for_a_while_stays_pytorchs(void **state)
{
	struct scene *scene = *state;

	reserve(scene, SEGMENT, MIB(20));
	map_page(scene, SEGMENT, MIB(20));
	GET(TORCH, SEGMENT, MIB(5));
	unmap_page(scene, SEGMENT, MIB(20));
	GET(TORCH, SEGMENT + MIB(10), MIB(1));
	look(scene);

	const struct gmt_segments *end = &scene->where.segments.items[1];
	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->where.allocator, 0);
	assert_int_equal(end->reserved_bytes, MIB(20));
	assert_int_equal(end->allocated_bytes, MIB(6));
	assert_int_equal(end->driver_bytes, 0);
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].current, 1);
	assert_int_equal(device->stats[GMT_ALLOCATOR_SPLIT][GMT_POOL_ALL].current, MIB(14));
	assert_int_equal(device->give_back_count, 0);
}

static void a_segment_that_slept_is_the_same_when_it_wakes_and_ends_with_its_addresses(void **state)
{
	struct scene *scene = *state;

	for (int asleep = 0; asleep < 2; asleep++) {
		reserve(scene, SEGMENT, MIB(20));
		map_page(scene, SEGMENT, MIB(20));
		GET(TORCH, SEGMENT, MIB(5));
		unmap_page(scene, SEGMENT, MIB(20));
		if (!asleep)
			map_page(scene, SEGMENT, MIB(20));
		PUT_BACK(TORCH, SEGMENT, MIB(5));
		if (!asleep)
			unmap_page(scene, SEGMENT, MIB(20));
		put_mapped(scene, GMT_KIND_DESTROY, GMT_SPACE_RESERVATION, SEGMENT, MIB(20), 0);
	}
	look(scene);

	const struct gmt_allocator_device *device = gmt_allocator_find(&scene->where.allocator, 0);
	const struct gmt_allocator_stat *reserved = &device->stats[GMT_ALLOCATOR_RESERVED][GMT_POOL_ALL];
	assert_true(gmt_allocator_knows_segments(device));
	assert_int_equal(reserved->current, 0);
	assert_int_equal(reserved->freed, MIB(40));
	assert_int_equal(device->stats[GMT_ALLOCATOR_SEGMENTS][GMT_POOL_ALL].freed, 2);
	assert_int_equal(scene->where.segments.items[1].segments, 0);
}

static void a_large_block_that_is_freed_at_once_is_a_giant_and_one_that_stays_is_none(void **state)
{
	struct scene *scene = *state;

	GET(TORCH, SEGMENT, MIB(50)); /* stays for 17 allocations */
	GET(TORCH, SEGMENT + MIB(60), MIB(40));
	PUT_BACK(TORCH, SEGMENT + MIB(60), MIB(40));
	for (uint64_t i = 0; i < 16; i++)
		GET(TORCH, SEGMENT + MIB(200) + i * 512, 512);
	PUT_BACK(TORCH, SEGMENT, MIB(50));
	look(scene);
	assert_int_equal(scene->where.giants.rows.count, 1);
	assert_int_equal(scene->where.giants.rows.items[0].largest_bytes, MIB(40));
	assert_int_equal(scene->where.giants.rows.items[0].count, 1);
	assert_int_equal(scene->where.giants.rows.items[0].at_peak_bytes, MIB(40));
}

static void what_a_peak_is_made_of_is_what_lived_then_and_not_what_lives_now(void **state)
{
	struct scene *scene = *state;
	uint64_t peak = 0, live = 0;

	GET(CUDA, SEGMENT, MIB(8));
	GET(CUDA, SEGMENT + MIB(10), MIB(5)); /* the peak */
	PUT_BACK(CUDA, SEGMENT, 0);
	GET(CUDA, SEGMENT + MIB(20), MIB(3));
	look(scene);
	for (size_t i = 0; i < scene->where.births.steps.items.count; i++) {
		peak += scene->where.births.steps.items.items[i].peak_bytes;
		live += scene->where.births.steps.items.items[i].live_bytes;
	}
	assert_int_equal(peak, MIB(13));
	assert_int_equal(live, MIB(8));
	assert_false(scene->where.has_torch);
	assert_int_equal(scene->where.segments.count, 0);
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordered_map_finds_what_lies_at_or_below_a_key),
		SCENE(a_block_of_the_driver_is_a_segment_once_pytorch_puts_a_block_into_it),
		SCENE(a_ratio_of_exactly_one_and_a_half_is_no_fragmentation),
		SCENE(empty_segments_are_no_holes_and_are_not_pinned),
		SCENE(segments_freed_between_two_blocks_are_given_back_once),
		SCENE(a_block_outside_of_all_segments_leaves_the_pools_unknown),
		SCENE(pages_that_are_mapped_side_by_side_are_one_expandable_segment),
		SCENE(pages_count_as_reserved_as_no_segments_and_as_given_back_when_they_are_unmapped),
		SCENE(a_segment_whose_memory_is_taken_away_for_a_while_stays_pytorchs),
		SCENE(a_segment_that_slept_is_the_same_when_it_wakes_and_ends_with_its_addresses),
		SCENE(a_large_block_that_is_freed_at_once_is_a_giant_and_one_that_stays_is_none),
		SCENE(what_a_peak_is_made_of_is_what_lived_then_and_not_what_lives_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
