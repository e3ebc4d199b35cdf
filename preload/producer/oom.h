/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OOM_H
#define GMT_PRODUCER_OOM_H

/*
 * A request that was refused for lack of memory. In the flow: hooks -> oom -> commit -> ring. What the
 * driver has left follows the event into the ring, and the file is made readable up to here at once: many
 * a process dies of this.
 */

#include <stdint.h>

#include "shared_memory/ring_event.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation; all else is no lack of memory. */
enum { GMT_OOM_RESULT = 2 };

/*
 * Asks the driver what is left, right after it refused `event`, whose device must be known. The answer
 * is to be committed behind the event. errno, CUDA's last error, the current context and captures that go
 * on are as before.
 */
void gmt_oom_ask(const struct gmt_ring_event *event, struct gmt_ring_event *ret_answer);

/*
 * Outside the recorder, when both are committed: may wait a few milliseconds for the writer, at most 50
 * and only for the first refusals in a row.
 */
void gmt_oom_wait(void);

/* Both, around the commit, for an event that does not wait: in place of gmt_event_end. */
void gmt_oom_end(const struct gmt_ring_event *event);

#endif
