/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_SAMPLER_H
#define GMT_DRIVER_SAMPLER_H

/*
 * Samples the devices' memory, as the driver and NVML report it. In the flow: sampler -> samples ->
 * writer.
 *
 * A separate thread asks, in relaxed capture mode. So no thread of the program waits for the
 * answers, and no stream capture is disturbed. The sampler makes no context and keeps none alive.
 * It starts after a context was seen. It samples if calls were made since the last sample. It does
 * so at most four times a second and takes at most a fiftieth of the time. It stops for good once
 * the process begins to exit. In the child of a process that had a sampler, it does not start
 * again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * Starts the thread if it does not run. Returns whether it runs then. Call it on a thread of the
 * program, not on the writer's thread. The writer's thread has its own descriptor table, without
 * the driver's descriptors, and its new threads would share that table.
 */
bool gmt_sampler_start(void);

/*
 * Starts a sample if it is due and something happened. The writer's thread calls it several times a
 * second.
 */
void gmt_sampler_tick(void);

/*
 * Takes and records a sample of one device at once, from a hook. Starts the thread if it does not
 * run. Waits for the answer, at most a fifth of a second. The first answer takes as long as opening
 * NVML. Returns false if there is no answer. Keeps errno. Only for rare moments.
 */
bool gmt_sampler_sample_now(int device, struct gmt_sample *ret_sample);

/*
 * Stops sampling, because the process ends. With `once_more`, takes a last sample first. Waits for
 * a running query, for a limited time. Any thread. Does nothing in the child of a vfork.
 */
void gmt_sampler_stop(bool once_more);

/* Returns whether the sampler's thread is a thread of this process. */
bool gmt_sampler_is_running(void);

#endif
