/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_STREAM_STEPS_H
#define GMT_WRITER_STREAM_STEPS_H

/* Counts the steps in a stream, for windows of steps. Only the writer's thread uses it. */

#include "format/format.h"
#include "writer/stream.h"

/* Returns whether the event is a mark that ends a step. */
static inline bool gmt_stream_is_step(const struct gmt_ring_event *event)
{
	return event->kind == GMT_RING_MARK && event->layer == GMT_MARK_KIND_STEP;
}

/* Counts a step end for the object that reports it. */
void gmt_stream_count_step(struct gmt_stream *stream, const struct gmt_ring_event *mark);

/*
 * Returns the largest number of steps of one object (an optimizer, a loop).
 */
uint64_t gmt_stream_steps(const struct gmt_stream *stream);

#endif
