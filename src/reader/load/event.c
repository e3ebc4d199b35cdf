/* SPDX-License-Identifier: MIT */
#include "reader/load/event.h"

#include <assert.h>

struct gmt_shape gmt_shape_of(const struct gmt_snapshot_event *event)
{
	assert(event->kind < GMT_SHAPE_KINDS && event->layer < GMT_SHAPE_LAYERS);
	return (struct gmt_shape){ {
		(uint64_t)event->thread << GMT_SHAPE_THREAD | event->result,
		(uint64_t)event->api << GMT_SHAPE_API | (uint64_t)event->context << GMT_SHAPE_CONTEXT |
			(uint64_t)(uint16_t)event->device << GMT_SHAPE_DEVICE |
			(uint64_t)event->kind << GMT_SHAPE_KIND | (uint64_t)event->layer << GMT_SHAPE_LAYER |
			event->space,
	} };
}

void gmt_shape_set(struct gmt_snapshot_event *event, const struct gmt_shape *shape)
{
	uint64_t low = shape->words[1];

	event->thread = (uint32_t)(shape->words[0] >> GMT_SHAPE_THREAD);
	event->result = (uint32_t)shape->words[0];
	event->api = (uint16_t)(low >> GMT_SHAPE_API);
	event->context = (uint16_t)(low >> GMT_SHAPE_CONTEXT);
	event->device = (int16_t)(uint16_t)(low >> GMT_SHAPE_DEVICE);
	event->kind = low >> GMT_SHAPE_KIND & (GMT_SHAPE_KINDS - 1);
	event->layer = low >> GMT_SHAPE_LAYER & (GMT_SHAPE_LAYERS - 1);
	event->space = (uint8_t)low;
}

bool gmt_shapes_look_up(struct gmt_shapes *shapes, const struct gmt_shape *shape,
	struct gmt_shapes_known *known)
{
	uint32_t number;

	if (!gmt_intern(&shapes->numbers, shape, sizeof(*shape), &number))
		return false;
	*known = (struct gmt_shapes_known){ *shape, number + 1 };
	return true;
}

void gmt_shapes_fini(struct gmt_shapes *shapes)
{
	gmt_intern_fini(&shapes->numbers);
	*shapes = (struct gmt_shapes){ 0 };
}
