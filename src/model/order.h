/* SPDX-License-Identifier: MIT */
#ifndef GMT_MODEL_ORDER_H
#define GMT_MODEL_ORDER_H

/*
 * Events in the order of the file to events in order of time: by stamp, and by the file's order where stamps are
 * equal. As a thread's stamps never decrease (loading ensures it), its own events stay in their order. In the flow:
 * decode -> load -> order -> snapshot->events.
 *
 *	*gmt_order_push(&order) = event for each; gmt_order_part(&order) where what comes next is later, whatever
 *	its stamps say; gmt_order_finish(&order, &events)
 *
 * Threads write a file in turn, so an event is never far from its place: what is looked through is a window of
 * the file. Where a file is in greater disorder, what was packed too early is taken back; where that is too much, runs
 * are made and put together at the end. Memory follows the window and the packed events. One thread; false means out of memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/events.h"
#include "model/snapshot.h"

/* What an event in the window is sorted by, and its place there. */
struct gmt_order_key {
	uint64_t stamp;
	uint32_t place;
};

struct gmt_order_run {
	struct gmt_events events;
	uint64_t last_stamp;
	bool is_first_of_part;
};

/* Zero-initialise to make one. */
struct gmt_order {
	GMT_VEC(struct gmt_snapshot_event) window; /* in order up to `sorted` */
	size_t sorted, window_events;
	bool is_new_part;
	GMT_VEC(struct gmt_order_key) keys, merged; /* for sorting the window */
	GMT_VEC(uint32_t) starts; /* of runs in keys, and its end */
	GMT_VEC(struct gmt_snapshot_event) spare;
	GMT_VEC(struct gmt_order_run) runs;
};

/* For gmt_order_push. */
bool gmt_order_make_room(struct gmt_order *order);

/* Where the next event is to be put, before anything else is asked for; NULL when out of memory. */
static inline struct gmt_snapshot_event *gmt_order_push(struct gmt_order *order)
{
	if (order->window.count >= order->window_events || order->window.count == order->window.capacity)
		if (!gmt_order_make_room(order))
			return NULL;
	return &order->window.items[order->window.count++];
}

bool gmt_order_part(struct gmt_order *order);

/* `ret_events` (zeroed) is the caller's. */
bool gmt_order_finish(struct gmt_order *order, struct gmt_events *ret_events);

void gmt_order_fini(struct gmt_order *order);

/* Sorts snapshot->marks likewise. */
void gmt_order_marks(struct gmt_snapshot *snapshot);

#endif
