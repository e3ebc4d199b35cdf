/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_REPLAY_INTERPRET_EVENT_H
#define GMT_READER_REPLAY_INTERPRET_EVENT_H

/* The form of a recording's event for the event interpreter. No state. */

#include "accounting/interpret.h"
#include "reader/load/recording.h"

/*
 * Fills `ret_event`. `stack` is the owner's number of the event's stack; the tag is the event's
 * trace. Sets field by field: copying a structure made elsewhere would stall the processor.
 */
static inline void gmt_interpret_event_set(struct gmt_interpret_event *ret_event,
	const struct gmt_recording_event *event, uint32_t stack)
{
	struct gmt_recording_event_details named = gmt_recording_event_details(event);
	struct gmt_recording_totals totals = { 0 };

	ret_event->has_totals = gmt_recording_totals(event, &totals);
	ret_event->allocated_bytes = totals.allocated_bytes;
	ret_event->reserved_bytes = totals.reserved_bytes;
	ret_event->object = named.object;
	ret_event->offset = named.offset;
	ret_event->context = named.context;
	ret_event->stack = stack;
	ret_event->tag = event->trace;
	ret_event->stamp = event->stamp;
	ret_event->address = event->address;
	ret_event->size_bytes = event->size_bytes;
	ret_event->thread = event->thread;
	ret_event->result = event->result;
	ret_event->api = event->api;
	ret_event->device = event->device;
	ret_event->kind = event->kind;
	ret_event->layer = event->layer;
	ret_event->space = event->space;
}

#endif
