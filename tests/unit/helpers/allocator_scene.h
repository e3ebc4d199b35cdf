/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_ALLOCATOR_SCENE_H
#define GMT_TESTS_ALLOCATOR_SCENE_H

/*
 * Recordings for tests of the allocator's state: a test lists the calls of PyTorch and of the
 * program.
 */
#include "analysis/allocator/allocator_state.h"
#include "recording_file.h"
#include "temporary_file.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { SEGMENT = 0x10000000 };

/* The events of one thread on device 0, in order. */
struct scene {
	struct recording_file file;
	uint64_t stamp, events;
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_replay replay;
	struct gmt_allocator_state state;
};

static inline void put(struct scene *scene, uint8_t layer, uint8_t kind, uint64_t address,
	uint64_t size_bytes)
{
	RECORDING_PUT(&scene->file, EVENT, gmt_event, .stamp = scene->stamp += 1000, .thread = 1,
		.kind = kind, .layer = layer, .space = GMT_SPACE_DEVICE, .address = address,
		.size_bytes = size_bytes);
	scene->events++;
}

/* Adds an event of mapped memory. `object` is the handle of the memory. */
static inline void put_mapped(struct scene *scene, uint8_t kind, uint8_t space, uint64_t address,
	uint64_t size_bytes, uint64_t object)
{
	RECORDING_PUT(&scene->file, EVENT, gmt_event, .stamp = scene->stamp += 1000, .thread = 1,
		.kind = kind, .layer = gmt_space_layer(space), .space = space, .address = address,
		.size_bytes = size_bytes, .object = object);
	scene->events++;
}

/* Maps a page of an expandable segment. The page's handle is its address. */
static inline void map_page(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_ALLOC, GMT_SPACE_VMM, address, size_bytes, 0);
	put_mapped(scene, GMT_KIND_MAP, GMT_SPACE_VMM, address, size_bytes, address);
}

static inline void unmap_page(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_UNMAP, GMT_SPACE_VMM, address, size_bytes, 0);
	put_mapped(scene, GMT_KIND_FREE, GMT_SPACE_VMM, address, 0, 0);
}

static inline void reserve(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
	put_mapped(scene, GMT_KIND_CREATE, GMT_SPACE_RESERVATION, address, size_bytes, 0);
}

#define ALLOCATE(layer, address, size) put(scene, GMT_LAYER_##layer, GMT_KIND_ALLOC, address, size)
#define RELEASE(layer, address, size) put(scene, GMT_LAYER_##layer, GMT_KIND_FREE, address, size)

static inline int scene_open(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	if (!scene || path_setup(state))
		return 1;
	recording_file_open(&scene->file, path, 1);
	RECORDING_PUT(&scene->file, PROCESS, gmt_process, .pid = 1, .start_time_ns = 1,
		.start_stamp = 1);
	RECORDING_PUT(&scene->file, THREAD, gmt_thread, .id = 1, .name = slice("main"));
	return 0;
}

/* Ends the recording, reads it and computes the allocator's state. */
static inline void compute_state(struct scene *scene)
{
	struct gmt_traces_options traces = { 0 };
	struct gmt_replay_observer observers[GMT_ALLOCATOR_STATE_MAX_OBSERVERS];
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END, .observers = observers };

	RECORDING_PUT(&scene->file, END, gmt_end, .stamp = scene->stamp + 1, .events = scene->events);
	recording_file_close(&scene->file);
	assert_int_equal(gmt_recording_load(path, NULL, &scene->recording, NULL), GMT_OK);
	assert_int_equal(gmt_traces_compute(&scene->traces, scene->recording, &traces, NULL), GMT_OK);
	assert_int_equal(gmt_timeline_compute(&scene->timeline, scene->recording, &scene->traces, NULL),
		GMT_OK);
	assert_int_equal(gmt_allocator_state_init(&scene->state, scene->recording, &scene->traces,
						 &scene->timeline, NULL),
		GMT_OK);
	options.observer_count = gmt_allocator_state_observers(&scene->state, observers);
	assert_int_equal(gmt_replay_run(&scene->replay, scene->recording, &scene->traces, &options,
						 NULL),
		GMT_OK);
	assert_int_equal(gmt_allocator_state_finish(&scene->state, &scene->replay, GMT_REPLAY_TO_END,
						 NULL),
		GMT_OK);
}

static inline int scene_close(void **state)
{
	struct scene *scene = *state;

	gmt_allocator_state_fini(&scene->state);
	gmt_replay_fini(&scene->replay);
	gmt_timeline_fini(&scene->timeline);
	gmt_traces_fini(&scene->traces);
	gmt_recording_free(scene->recording);
	free(scene);
	return path_teardown(state);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

#endif
