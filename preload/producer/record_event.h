/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RECORD_EVENT_H
#define GMT_PRODUCER_RECORD_EVENT_H

/*
 * The last part of every hook: guard, stacks, ring. In the flow: between what a wrapper knows and the
 * ring. The only place that decides which events carry stacks.
 *
 *	if (gmt_event_begin()) {
 *		... fill the event; the program's own driver calls do not happen here ...
 *		gmt_event_end(&event, 1);
 *	}
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared_memory/ring_event.h"

/*
 * Enters the recorder in this thread. False when it is already in it (a signal handler made this
 * event; it is counted as lost). errno is kept until gmt_event_end.
 */
bool gmt_event_begin(void);

/*
 * Gives events of one call the stacks that their kinds want and the configuration allows, offers them to
 * the ring in this order and leaves the recorder.
 */
void gmt_event_end(struct gmt_ring_event *events, unsigned count);

/*
 * From now on events carry no stacks, or do so again. They are recorded all the same, so that what lives stays
 * known. Any thread; takes no lock.
 */
void gmt_event_pause(bool wanted);
bool gmt_event_is_paused(void);

/* Writer: the next change of that state that it has not `seen` (a count, 0 at first). False when there is none. */
bool gmt_event_next_change(uint32_t *seen, uint64_t *ret_stamp, bool *ret_paused);

#endif
