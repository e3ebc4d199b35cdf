/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_OOM_H
#define GMT_DRIVER_OOM_H

/*
 * Requests that were refused because memory ran out. In the flow: hooks -> oom -> record event ->
 * ring. The driver's free memory follows the event into the ring. The writer makes the file
 * readable up to this event at once, because many processes die of it.
 */

#include <stdint.h>

#include "shared_memory/ring_event.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. All other results have other causes. */
enum { GMT_OOM_RESULT = 2 };

/*
 * Asks the driver how much memory is free, right after it refused `event`. The device of `event`
 * must be known. The caller records the answer after the event. errno, CUDA's last error, the
 * current context and running stream captures stay unchanged.
 */
void gmt_oom_query_memory(const struct gmt_ring_event *event, struct gmt_ring_event *ret_answer);

/*
 * May wait a few milliseconds for the writer: at most 50 ms, and only for the first refusals in a
 * row. Call it outside the recorder, after both events were recorded.
 */
void gmt_oom_wait(void);

/*
 * Replaces gmt_event_end for an event that does not wait for an outer call. Calls
 * gmt_oom_query_memory, records both events, and calls gmt_oom_wait.
 */
void gmt_oom_end(const struct gmt_ring_event *event);

#endif
