/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENT_H
#define GMT_READER_LOAD_EVENT_H

/*
 * An event, as readers see it; and its shape, which is what it has in common with many: who called what on which device,
 * and how that ended. A recording has some tens of shapes, of which each has a number. One thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "containers/intern.h"

struct gmt_snapshot_event {
	uint64_t stamp; /* never before the thread's event before it */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t more[2]; /* layer torch: what PyTorch reported; others: what else it is about (see snapshot.h) */
	uint32_t trace;  /* index in traces */
	/* Its shape. */
	uint32_t thread; /* id */
	uint32_t result;
	uint16_t api; /* id */
	uint16_t context;
	int16_t device;
	uint8_t kind, layer, space;
};

/* As bits without gaps: equal shapes have equal bytes. The fields are where these shifts say. */
struct gmt_shape {
	uint64_t words[2];
};

enum {
	GMT_SHAPE_THREAD = 32, /* of words[0], with the result below */
	GMT_SHAPE_API = 48,    /* of words[1], with the space below all */
	GMT_SHAPE_CONTEXT = 32,
	GMT_SHAPE_DEVICE = 16,
	GMT_SHAPE_KIND = 11,
	GMT_SHAPE_LAYER = 8,
	GMT_SHAPE_KINDS = 32, /* kinds are below this, ... */
	GMT_SHAPE_LAYERS = 8, /* ... and layers below this */
};

enum { GMT_SHAPES_KNOWN = 64 };

/* A shape that was met lately. */
struct gmt_shapes_known {
	struct gmt_shape shape;
	uint32_t number_plus_1;
};

/* Zero-initialise to make one. */
struct gmt_shapes {
	struct gmt_intern numbers; /* keys are shapes; ids are numbers */
	struct gmt_shapes_known known[GMT_SHAPES_KNOWN];
};

struct gmt_shape gmt_shape_of(const struct gmt_snapshot_event *event);

/* Sets the fields of the event that its shape has. */
void gmt_shape_set(struct gmt_snapshot_event *event, const struct gmt_shape *shape);

/* For gmt_shapes_find, of one that was not met lately. */
bool gmt_shapes_look_up(struct gmt_shapes *shapes, const struct gmt_shape *shape, struct gmt_shapes_known *known);

/* The number of a shape, which is new if need be. They count from 0. False when out of memory. */
static inline bool gmt_shapes_find(struct gmt_shapes *shapes, const struct gmt_shape *shape, uint32_t *ret_number)
{
	struct gmt_shapes_known *known = &shapes->known[gmt_hash_u64(shape->words[0] + shape->words[1] * 31) %
		GMT_SHAPES_KNOWN];

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
