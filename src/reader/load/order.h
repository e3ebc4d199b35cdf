/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_ORDER_H
#define GMT_READER_LOAD_ORDER_H

/*
 * Events in the order of the file to events in order of time: by stamp, and by the file's order where stamps are
 * equal. As a thread's stamps never decrease (loading ensures it), its own events stay in their order. In the flow:
 * feed -> load -> order -> snapshot->events.
 *
 *	*gmt_order_push(&order, row.stamp) = row for each; gmt_order_part(&order) where what comes next is later, whatever
 *	its stamps say; gmt_order_finish(&order, &events)
 *
 * Threads write a file in turn, so an event is never far from its place: what is looked through is a window of
 * the file. Where a file is in greater disorder, what was packed too early is taken back; where that is too much, runs
 * are made and put together at the end. Memory follows the window and the packed events. One thread; false means out of memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/events.h"
#include "reader/load/order_keys.h"
#include "reader/load/snapshot.h"

struct gmt_order_run {
	struct gmt_events events;
	uint64_t last_stamp;
	bool is_first_of_part;
};

/* Zero-initialise but for `shapes` to make one. */
struct gmt_order {
	struct gmt_shapes *shapes; /* those that rows have numbers of */
	GMT_VEC(struct gmt_order_key) window; /* events that wait, in order up to `sorted` */
	size_t sorted, window_events;
	GMT_VEC(struct gmt_events_row) rows; /* by a key's place: where they wait, without being moved */
	GMT_VEC(uint64_t) free; /* a bit for each place: it has none */
	size_t free_places, free_at; /* how many; the word of `free` that the last one was found in */
	uint64_t least_stamp; /* of those behind `sorted`; with none, anything */
	bool is_disordered;   /* the window, before it is sorted */
	bool is_new_part;
	struct gmt_order_sorter sorter;
	GMT_VEC(struct gmt_order_run) runs;
};

/* For gmt_order_push. */
bool gmt_order_make_room(struct gmt_order *order);

/* A free place, of which there is one. One behind the other, so that rows that come together lie together. */
static inline uint32_t gmt_order_take_place(struct gmt_order *order)
{
	uint64_t *word = &order->free.items[order->free_at];

	while (!*word) {
		order->free_at = order->free_at + 1 < order->free.count ? order->free_at + 1 : 0;
		word = &order->free.items[order->free_at];
	}

	uint32_t place = (uint32_t)(order->free_at * 64) + (uint32_t)__builtin_ctzll(*word);

	*word &= *word - 1;
	order->free_places--;
	return place;
}

/* Where the next event is to be put, of this stamp, before anything else is asked for; NULL when out of memory. */
static inline struct gmt_events_row *gmt_order_push(struct gmt_order *order, uint64_t stamp)
{
	if (order->window.count >= order->window_events || !order->free_places)
		if (!gmt_order_make_room(order))
			return NULL;

	size_t at = order->window.count++;
	uint32_t place = gmt_order_take_place(order);

	if (at == order->sorted || stamp < order->least_stamp)
		order->least_stamp = stamp;
	order->is_disordered |= at && stamp < order->window.items[at - 1].stamp;
	order->window.items[at] = (struct gmt_order_key){ .stamp = stamp, .place = place };
	return &order->rows.items[place];
}

bool gmt_order_part(struct gmt_order *order);

/* `ret_events` (zeroed) is the caller's. */
bool gmt_order_finish(struct gmt_order *order, struct gmt_events *ret_events);

void gmt_order_fini(struct gmt_order *order);

/* Sorts snapshot->marks likewise. */
void gmt_order_marks(struct gmt_snapshot *snapshot);

#endif
