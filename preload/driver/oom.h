/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_OOM_H
#define GMT_DRIVER_OOM_H

/*
 * Requests that the driver refuses because memory ran out. A second event with the device's free
 * memory follows the event of the request. The writer then writes both to the file at once, because
 * many processes die of the refusal.
 */

#include <stdint.h>

#include "shared_memory/ring_event.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. All other results have other causes. */
enum { GMT_OOM_RESULT = 2 };

/*
 * Asks the driver how much memory is free on the device of `event`, which it just refused. The
 * caller records the answer after `event`. The answer is 0 if the device is unknown or the query
 * fails. errno, CUDA's last error, the current context and stream captures stay unchanged.
 */
void gmt_oom_query_free_memory(const struct gmt_ring_event *event,
	struct gmt_ring_event *ret_answer);

/*
 * Asks the writer to write the events to the file. Waits for that, at most 50 ms, and only at the
 * first refusals in a row. Call it outside the recorder, after both events were recorded.
 */
void gmt_oom_wait(void);

/*
 * Records a refused request and the free memory, and calls gmt_oom_wait. Takes the place of
 * gmt_event_end for an event that does not wait for an outer call.
 */
void gmt_oom_record(const struct gmt_ring_event *event);

#endif
