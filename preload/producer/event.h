/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_EVENT_H
#define GMT_PRODUCER_EVENT_H

/*
 * Records the events of a hooked call: marks the thread as inside the recorder, captures stacks,
 * and pushes the events to the thread's ring. In the flow: wrapper -> event -> ring. Only this
 * module decides which events have stacks.
 *
 *	if (gmt_event_begin()) {
 *		... fill the event; do not make the program's own driver calls here ...
 *		gmt_event_end(&event, 1);
 *	}
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/ring_event.h"

/*
 * Enters the recorder in this thread. Saves errno until gmt_event_end. Returns false if the thread
 * is already in the recorder: a signal handler interrupted it there and made this call. The event
 * is then counted as lost.
 */
bool gmt_event_begin(void);

/*
 * Captures the stacks, if the events' kinds have stacks and the configuration allows it. All events
 * of one call have the same stacks. Pushes the events to the ring in this order, and leaves the
 * recorder.
 */
void gmt_event_end(struct gmt_ring_event *events, unsigned count);

/*
 * Stops or resumes the capture of stacks. Events are still recorded while it is paused, so that the
 * set of live blocks stays known. Any thread. Takes no lock.
 */
void gmt_event_pause_stacks(bool pause);
bool gmt_event_stacks_are_paused(void);

/*
 * Writer only. Gets the next pause or resumption, and adds 1 to `*seen`, the number of those
 * already returned (0 at first). Returns false if there is no further change yet.
 */
bool gmt_event_next_pause_change(uint32_t *seen, uint64_t *ret_stamp, bool *ret_is_paused);

#endif
