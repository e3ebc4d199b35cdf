/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENT_SHAPE_H
#define GMT_READER_LOAD_EVENT_SHAPE_H

/*
 * An event in the reader's memory, and its shape. A shape is the combination of the fields in which
 * many events are equal: thread, api, result, context, device, kind, layer and space. A recording
 * has some tens of different shapes. The reader numbers them, and stores one number per event in
 * place of these fields.
 *
 * Not thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "containers/intern.h"

struct gmt_recording_event {
	uint64_t stamp; /* not less than the stamp of the thread's previous event */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t
		more[2]; /* layer torch: PyTorch's totals; other layers: see gmt_recording_event_details */
	uint32_t trace; /* index in the recording's `traces` */
	/* The fields from here on are the event's shape. */
	uint32_t thread; /* id */
	uint32_t result;
	uint16_t api; /* id */
	uint16_t context;
	int16_t device;
	uint8_t kind, layer, space;
};

/*
 * A shape packed without unused bits, so equal shapes have equal bytes. The shifts below give the
 * lowest bit of each field.
 */
struct gmt_event_shape {
	uint64_t words[2];
};

enum {
	/* In words[0]. `result` has the lowest 32 bits. */
	GMT_SHAPE_THREAD_SHIFT = 32,
	/* In words[1]. `space` has the lowest 8 bits. */
	GMT_SHAPE_API_SHIFT = 48,
	GMT_SHAPE_CONTEXT_SHIFT = 32,
	GMT_SHAPE_DEVICE_SHIFT = 16,
	GMT_SHAPE_KIND_SHIFT = 11,
	GMT_SHAPE_LAYER_SHIFT = 8,
	GMT_SHAPE_KINDS = 32, /* each kind must be less than this: it has 5 bits */
	GMT_SHAPE_LAYERS = 8, /* each layer must be less than this: it has 3 bits */
};

enum { GMT_SHAPES_CACHED = 64 };

/* An entry of the cache of recent shapes. */
struct gmt_event_shapes_cached {
	struct gmt_event_shape shape;
	uint32_t number_plus_1; /* 0: the entry is empty */
};

/* Gives each different shape a number. Initialize with zeros. */
struct gmt_event_shapes {
	struct gmt_intern numbers; /* maps a shape to its number */
	struct gmt_event_shapes_cached cached[GMT_SHAPES_CACHED];
};

/* Returns the shape of an event. */
struct gmt_event_shape gmt_event_shape_of(const struct gmt_recording_event *event);

/* Fills the fields of `event` that belong to the shape. */
void gmt_event_shape_set(struct gmt_recording_event *event, const struct gmt_event_shape *shape);

/*
 * Slow path of gmt_event_shapes_find, for a shape that is not in the cache. Stores the shape in
 * `cached`. Returns false when out of memory.
 */
bool gmt_event_shapes_look_up(struct gmt_event_shapes *shapes, const struct gmt_event_shape *shape,
	struct gmt_event_shapes_cached *cached);

/*
 * Finds the number of a shape, or gives a new shape the next number. Numbers start at 0. Returns
 * false when out of memory.
 */
static inline bool gmt_event_shapes_find(struct gmt_event_shapes *shapes,
	const struct gmt_event_shape *shape, uint32_t *ret_number)
{
	struct gmt_event_shapes_cached *cached =
		&shapes->cached[gmt_hash_u64(shape->words[0] + shape->words[1] * 31) % GMT_SHAPES_CACHED];

	if ((!cached->number_plus_1 || memcmp(&cached->shape, shape, sizeof(*shape)) != 0) &&
		!gmt_event_shapes_look_up(shapes, shape, cached))
		return false;
	*ret_number = cached->number_plus_1 - 1;
	return true;
}

/* Returns the number of different shapes. */
static inline size_t gmt_event_shapes_count(const struct gmt_event_shapes *shapes)
{
	return shapes->numbers.entries.count;
}

/* Returns the shape with this number, which must be below the count. */
static inline const struct gmt_event_shape *gmt_event_shapes_get(
	const struct gmt_event_shapes *shapes, size_t number)
{
	return (const struct gmt_event_shape *)shapes->numbers.entries.items[number].bytes;
}

void gmt_event_shapes_fini(struct gmt_event_shapes *shapes);

#endif
