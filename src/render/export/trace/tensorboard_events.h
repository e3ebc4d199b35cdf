/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TRACE_TENSORBOARD_EVENTS_H
#define GMT_RENDER_EXPORT_TRACE_TENSORBOARD_EVENTS_H

/*
 * Writes a file of events for TensorBoard: records with messages of Protocol Buffers. An event has
 * the scalars of one step. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/export/protobuf.h"

/* Initialize with zeros and set `file`. */
struct gmt_tensorboard_events {
	FILE *file;
	/* messages that are written again and again */
	struct gmt_protobuf event, summary, value, tensor, metadata;
};

/*
 * Writes the first record of a file. Times are in nanoseconds of the Unix epoch. A writer that
 * continues a file calls gmt_tensorboard_events_continue instead.
 */
void gmt_tensorboard_events_begin(struct gmt_tensorboard_events *events, uint64_t time_ns);
void gmt_tensorboard_events_continue(struct gmt_tensorboard_events *events);

/* Adds a scalar to the next event. It becomes a float, which has 24 bits. */
void gmt_tensorboard_events_add(struct gmt_tensorboard_events *events, const char *tag,
	uint64_t number);

/* Writes the event of a step with the scalars added so far. */
void gmt_tensorboard_events_write(struct gmt_tensorboard_events *events, uint64_t step,
	uint64_t time_ns);

/* Frees the messages. Returns false if memory was exhausted; the file then lacks something. */
bool gmt_tensorboard_events_fini(struct gmt_tensorboard_events *events);

#endif
