/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENT_H
#define GMT_READER_LOAD_EVENT_H

/*
 * An event as the reader's modules see it, and the event's shape. A shape holds the fields that
 * many events share: the thread, the call and its result, the context, the device, and the kind,
 * layer and space. A recording has some tens of shapes. Each shape has a number.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "containers/intern.h"

struct gmt_snapshot_event {
	uint64_t stamp; /* not less than the stamp of the thread's previous event */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t more[2]; /* layer torch: PyTorch's totals; other layers: see gmt_snapshot_object */
	uint32_t trace;  /* index in the snapshot's `traces` */
	/* The fields from here on are the event's shape. */
	uint32_t thread; /* id */
	uint32_t result;
	uint16_t api; /* id */
	uint16_t context;
	int16_t device;
	uint8_t kind, layer, space;
};

/*
 * A shape packed into bits without gaps, so equal shapes have equal bytes. The shifts below give
 * the place of each field.
 */
struct gmt_shape {
	uint64_t words[2];
};

enum {
	GMT_SHAPE_THREAD = 32, /* in words[0]; `result` has the lower 32 bits */
	GMT_SHAPE_API = 48,    /* in words[1]; `space` has the lowest 8 bits */
	GMT_SHAPE_CONTEXT = 32,
	GMT_SHAPE_DEVICE = 16,
	GMT_SHAPE_KIND = 11,
	GMT_SHAPE_LAYER = 8,
	GMT_SHAPE_KINDS = 32, /* every kind is below this value */
	GMT_SHAPE_LAYERS = 8, /* every layer is below this value */
};

enum { GMT_SHAPES_KNOWN = 64 };

/* One entry of the cache of recent shapes. */
struct gmt_shapes_known {
	struct gmt_shape shape;
	uint32_t number_plus_1;
};

/* Gives each different shape a number. Initialize with zeros. */
struct gmt_shapes {
	struct gmt_intern numbers; /* maps a shape to its number */
	struct gmt_shapes_known known[GMT_SHAPES_KNOWN];
};

struct gmt_shape gmt_shape_of(const struct gmt_snapshot_event *event);

/* Fills the fields of `event` that belong to the shape. */
void gmt_shape_set(struct gmt_snapshot_event *event, const struct gmt_shape *shape);

/*
 * Slow path of gmt_shapes_find, for a shape that the cache does not hold. Returns false when out of
 * memory.
 */
bool gmt_shapes_look_up(struct gmt_shapes *shapes, const struct gmt_shape *shape,
	struct gmt_shapes_known *known);

/*
 * Finds the number of a shape, or gives a new shape the next number. Numbers start at 0. Returns
 * false when out of memory.
 */
static inline bool gmt_shapes_find(struct gmt_shapes *shapes, const struct gmt_shape *shape,
	uint32_t *ret_number)
{
	struct gmt_shapes_known *known =
		&shapes->known[gmt_hash_u64(shape->words[0] + shape->words[1] * 31) % GMT_SHAPES_KNOWN];

	if ((!known->number_plus_1 || memcmp(&known->shape, shape, sizeof(*shape)) != 0) &&
		!gmt_shapes_look_up(shapes, shape, known))
		return false;
	*ret_number = known->number_plus_1 - 1;
	return true;
}

static inline size_t gmt_shapes_count(const struct gmt_shapes *shapes)
{
	return shapes->numbers.entries.count;
}

static inline const struct gmt_shape *gmt_shapes_get(const struct gmt_shapes *shapes, size_t number)
{
	return (const struct gmt_shape *)shapes->numbers.entries.items[number].bytes;
}

void gmt_shapes_fini(struct gmt_shapes *shapes);

#endif
