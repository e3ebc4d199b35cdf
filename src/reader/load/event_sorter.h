/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENT_SORTER_H
#define GMT_READER_LOAD_EVENT_SORTER_H

/*
 * Sorts events from file order into time order: by stamp, and by file order where stamps are equal.
 * The stamps of one thread never decrease (the loader ensures it), so the events of one thread keep
 * their order. In the flow: read_ahead -> load -> event sorter -> recording->events.
 *
 * For each event: *gmt_event_sorter_push(&sorter, row.stamp) = row. Call
 * gmt_event_sorter_end_part(&sorter) where all events to come are later than the events so far,
 * whatever their stamps. At the end, call gmt_event_sorter_finish(&sorter, &events).
 *
 * Threads write to a file in turn, so an event is never far from its place. Therefore only a window
 * of the file is searched. If a file has more disorder, the sorter takes back events that it packed
 * too early. If that is too much, it makes several sorted runs and merges them at the end. The
 * memory in use grows with the window and the packed events.
 *
 * For one thread. False means out of memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/events.h"
#include "reader/load/sort_by_stamp.h"
#include "reader/load/recording.h"

struct gmt_event_sorter_run {
	struct gmt_events events;
	uint64_t last_stamp;
	bool is_first_of_part;
};

/* Initialize with zeros, then set `shapes`. */
struct gmt_event_sorter {
	struct gmt_event_shapes *shapes; /* the shapes whose numbers the rows hold */
	/* keys of the waiting events; the first `sorted` keys are in order */
	GMT_VEC(struct gmt_stamp_key) window;
	size_t sorted, window_events;
	/* the waiting events, by `slot` of their key; rows never move */
	GMT_VEC(struct gmt_events_row) rows;
	GMT_VEC(uint64_t) free; /* one bit for each slot: 1 if the slot is free */
	/* number of free slots; index of the word of `free` to search first */
	size_t free_slots, free_at;
	/* the least stamp after the first `sorted` keys; undefined without such keys */
	uint64_t min_stamp;
	bool is_disordered;   /* the window must be sorted */
	bool is_new_part;
	struct gmt_stamp_sorter stamp_sorter;
	GMT_VEC(struct gmt_event_sorter_run) runs;
};

/* Slow path of gmt_event_sorter_push: makes room for one more event. */
bool gmt_event_sorter_make_room(struct gmt_event_sorter *sorter);

/*
 * Takes a free slot; one must exist. Takes slots in sequence, so that events that arrive together
 * lie together.
 */
static inline uint32_t gmt_event_sorter_take_slot(struct gmt_event_sorter *sorter)
{
	uint64_t *word = &sorter->free.items[sorter->free_at];

	while (!*word) {
		sorter->free_at = sorter->free_at + 1 < sorter->free.count ? sorter->free_at + 1 : 0;
		word = &sorter->free.items[sorter->free_at];
	}

	uint32_t slot = (uint32_t)(sorter->free_at * 64) + (uint32_t)__builtin_ctzll(*word);

	*word &= *word - 1;
	sorter->free_slots--;
	return slot;
}

/*
 * Returns the slot for the next event, which has this stamp. The caller fills the slot before any
 * other call. Returns NULL when out of memory.
 */
static inline struct gmt_events_row *gmt_event_sorter_push(struct gmt_event_sorter *sorter,
	uint64_t stamp)
{
	if (sorter->window.count >= sorter->window_events || !sorter->free_slots)
		if (!gmt_event_sorter_make_room(sorter))
			return NULL;

	size_t at = sorter->window.count++;
	uint32_t slot = gmt_event_sorter_take_slot(sorter);

	if (at == sorter->sorted || stamp < sorter->min_stamp)
		sorter->min_stamp = stamp;
	sorter->is_disordered |= at && stamp < sorter->window.items[at - 1].stamp;
	sorter->window.items[at] = (struct gmt_stamp_key){ .stamp = stamp, .slot = slot };
	return &sorter->rows.items[slot];
}

bool gmt_event_sorter_end_part(struct gmt_event_sorter *sorter);

/* Moves the sorted events to `ret_events` (zeroed), which then belongs to the caller. */
bool gmt_event_sorter_finish(struct gmt_event_sorter *sorter, struct gmt_events *ret_events);

void gmt_event_sorter_fini(struct gmt_event_sorter *sorter);

/* Sorts recording->marks by stamp, and by file order where stamps are equal. */
void gmt_sort_marks(struct gmt_recording *recording);

#endif
