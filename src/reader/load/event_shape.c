/* SPDX-License-Identifier: MIT */
#include "reader/load/event_shape.h"

#include <assert.h>

struct gmt_event_shape gmt_event_shape_of(const struct gmt_recording_event *event)
{
	assert(event->kind < GMT_SHAPE_KINDS && event->layer < GMT_SHAPE_LAYERS);
	return (struct gmt_event_shape){ {
		(uint64_t)event->thread << GMT_SHAPE_THREAD_SHIFT | event->result,
		(uint64_t)event->api << GMT_SHAPE_API_SHIFT |
			(uint64_t)event->context << GMT_SHAPE_CONTEXT_SHIFT |
			(uint64_t)(uint16_t)event->device << GMT_SHAPE_DEVICE_SHIFT |
			(uint64_t)event->kind << GMT_SHAPE_KIND_SHIFT |
			(uint64_t)event->layer << GMT_SHAPE_LAYER_SHIFT | event->space,
	} };
}

void gmt_event_shape_set(struct gmt_recording_event *event, const struct gmt_event_shape *shape)
{
	uint64_t low = shape->words[1];

	event->thread = (uint32_t)(shape->words[0] >> GMT_SHAPE_THREAD_SHIFT);
	event->result = (uint32_t)shape->words[0];
	event->api = (uint16_t)(low >> GMT_SHAPE_API_SHIFT);
	event->context = (uint16_t)(low >> GMT_SHAPE_CONTEXT_SHIFT);
	event->device = (int16_t)(uint16_t)(low >> GMT_SHAPE_DEVICE_SHIFT);
	event->kind = low >> GMT_SHAPE_KIND_SHIFT & (GMT_SHAPE_KINDS - 1);
	event->layer = low >> GMT_SHAPE_LAYER_SHIFT & (GMT_SHAPE_LAYERS - 1);
	event->space = (uint8_t)low;
}

bool gmt_event_shapes_look_up(struct gmt_event_shapes *shapes, const struct gmt_event_shape *shape,
	struct gmt_event_shapes_cached *cached)
{
	uint32_t number;

	if (!gmt_intern(&shapes->numbers, shape, sizeof(*shape), &number))
		return false;
	*cached = (struct gmt_event_shapes_cached){ *shape, number + 1 };
	return true;
}

void gmt_event_shapes_fini(struct gmt_event_shapes *shapes)
{
	gmt_intern_fini(&shapes->numbers);
	*shapes = (struct gmt_event_shapes){ 0 };
}
