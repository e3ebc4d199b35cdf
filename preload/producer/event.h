/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_EVENT_H
#define GMT_PRODUCER_EVENT_H

/*
 * The last part of every hook: guard, stacks, ring. In the flow: wrapper -> record event -> ring.
 * Only this part decides which events carry stacks.
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
 * Enters the recorder in this thread. Returns false if the thread is already in the recorder: a
 * signal handler made this event, and it is counted as lost. Saves errno until gmt_event_end.
 */
bool gmt_event_begin(void);

/*
 * Captures the stacks that the events' kinds want and the configuration allows. All events of one
 * call share them. Pushes the events to the ring in this order and leaves the recorder.
 */
void gmt_event_end(struct gmt_ring_event *events, unsigned count);

/*
 * Stops or resumes the capture of stacks. Events are still recorded while it is paused, so that the
 * set of live blocks stays known. Any thread. Takes no lock.
 */
void gmt_event_pause(bool wanted);
bool gmt_event_is_paused(void);

/*
 * Writer only. Returns the next change of that state after the first `seen` changes. `seen` is 0 at
 * first. Returns false if there is no further change.
 */
bool gmt_event_next_change(uint32_t *seen, uint64_t *ret_stamp, bool *ret_paused);

#endif
